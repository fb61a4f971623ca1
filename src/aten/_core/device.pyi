class device:
    def __init__(self, type: str | device, index: int | None = None) -> None: ...
    @property
    def type(self) -> str: ...
    @property
    def index(self) -> int | None: ...

class layout:
    name: str
    code: int

class memory_format:
    name: str
    code: int

LAYOUTS: dict[str, layout]
MEMORY_FORMATS: dict[str, memory_format]

def rename_privateuse1_backend(name: str) -> None: ...
def device_types() -> dict[str, int]: ...
