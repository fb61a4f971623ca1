from collections.abc import Sequence

class Code:
    def __init__(
        self, content: bytes | bytearray | memoryview, code: int, functions: Sequence[str]
    ) -> None: ...
    @property
    def address(self) -> int: ...
