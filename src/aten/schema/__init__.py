"""Floor 1: the grammar of operator schemas, lossless: `str(FunctionSchema.parse(text)) == text`."""

from aten.schema.errors import SchemaError as SchemaError
from aten.schema.model import Argument as Argument
from aten.schema.model import FunctionSchema as FunctionSchema
from aten.schema.model import OperatorName as OperatorName
from aten.schema.model import Return as Return
from aten.schema.types import Annotation as Annotation
from aten.schema.types import BaseType as BaseType
from aten.schema.types import DictType as DictType
from aten.schema.types import ListType as ListType
from aten.schema.types import OptionalType as OptionalType
from aten.schema.types import Type as Type
from aten.schema.types import parse_type as parse_type
