MAXIMUM_DIMENSIONS: int

class Size(tuple[int, ...]):
    def numel(self) -> int: ...
