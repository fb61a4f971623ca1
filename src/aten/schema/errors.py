"""The one exception of the grammar."""

from __future__ import annotations


class SchemaError(ValueError):
    """A schema that cannot be read, or that breaks a rule.

    `reason` says what is wrong, `column` where in the text (from 1; 0 where no text is at hand),
    `argument` the position of the argument at fault (-1: none), `source` where the text came from.
    """

    def __init__(
        self,
        reason: str,
        *,
        column: int = 0,
        argument: int = -1,
        text: str = "",
        source: str = "",
    ) -> None:
        self.reason = reason
        self.column = column
        self.argument = argument
        self.text = text
        self.source = source
        super().__init__(self._message())

    def _message(self) -> str:
        prefix = f"{self.source}: " if self.source else ""
        if not self.text:
            return prefix + self.reason
        place = f"column {self.column} of " if self.column else ""
        return f"{prefix}{self.reason} ({place}{self.text!r})"

    def located(self, *, column: int, text: str, source: str) -> SchemaError:
        """The same complaint with its place in a text; a column it already has is kept."""
        return SchemaError(
            self.reason,
            column=self.column or column,
            argument=self.argument,
            text=text,
            source=source,
        )
