"""Code generation: from a registry to tables, with errors that name file and line."""

import ast
import json
from pathlib import Path

import pytest

from aten.codegen.__main__ import generate, main
from aten.codegen.entries import RegistryError, read_entries
from aten.codegen.operators import expand, packets
from aten.schema import FunctionSchema, SchemaError

ROOT = Path(__file__).parents[2]
FACTS = json.loads((ROOT / "tests/data/native_functions_schemas.json").read_text())
TAGS = {"core": "", "pointwise": "", "reduction": ""}
ADD = """\
# A registry of one operator.
- func: add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
  inplace: true
  out: out
  kind: pointwise
  numbers_as_tensors: true
  tags: [core]
"""


@pytest.fixture
def repository(tmp_path):
    """The smallest tree that code can be generated for."""
    package = tmp_path / "src/aten"
    (package / "ops").mkdir(parents=True)
    (package / "native_functions.yaml").write_text(ADD)
    (package / "tags.yaml").write_text("core: of the core set\n")
    (package / "ops/pointwise.py").write_text("@op\ndef add(self, other, *, alpha=1): ...\n")
    return tmp_path


def edit(repository, old, new, file="native_functions.yaml"):
    path = repository / "src/aten" / file
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def table_of(repository, name="table"):
    namespace = {}
    exec(generate(repository)[Path(f"src/aten/_generated/{name}.py")], namespace)
    return namespace


def operators_of(tmp_path, text):
    path = tmp_path / "native_functions.yaml"
    path.write_text(text)
    return expand(read_entries(path, TAGS), {})


def test_a_row_and_its_variants(repository):
    table = table_of(repository)
    options = {
        "promotion": "default",
        "numbers_as_tensors": True,
        "tags": ("core", "pointwise"),
    }
    function = "aten.ops.pointwise:add"
    assert table["OPERATORS"] == {
        "add.Tensor": (
            "add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
            "pointwise",
            "functional",
            "add.Tensor",
            function,
            options,
        ),
        "add_.Tensor": (
            "add_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)",
            "pointwise",
            "inplace",
            "add.Tensor",
            function,
            options,
        ),
        "add.out": (
            "add.out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)",
            "pointwise",
            "out",
            "add.Tensor",
            function,
            options,
        ),
    }
    names = table_of(repository, "names")
    assert names["PACKETS"] == {"add": ("add.Tensor", "add.out"), "add_": ("add_.Tensor",)}
    assert names["FUNCTIONS"] == ("add",)
    assert names["METHODS"] == ("add", "add_")


def test_generation_is_deterministic_and_check_names_what_is_stale(repository, capsys):
    root = f"--root={repository}"
    assert main(["--check", root]) == 1
    assert "src/aten/_generated/table.py is stale" in capsys.readouterr().err
    assert main([root]) == 0
    assert main(["--check", root]) == 0
    assert capsys.readouterr().err == ""
    edit(repository, "tags: [core]", "tags: []")
    assert main(["--check", root]) == 1
    errors = capsys.readouterr().err
    assert "docs/operators.md is stale" in errors
    assert "functions.pyi" not in errors


def test_generated_files_are_python(repository):
    for path, text in generate(repository).items():
        if path.suffix in (".py", ".pyi"):
            ast.parse(text)
            assert "never edit" in text.partition("\n")[0]


def test_stubs(repository):
    files = generate(repository)
    functions = files[Path("src/aten/_generated/functions.pyi")]
    assert (
        "def add(input: Tensor | _complex, other: Tensor | _complex, *, "
        "alpha: _complex | Tensor = 1, out: Tensor | None = None) -> Tensor:"
    ) in functions
    methods = files[Path("src/aten/_generated/methods.pyi")]
    assert "    def add_(self, other: Tensor | _complex, *, alpha" in methods
    assert "out: Tensor" not in methods


def test_stubs_offer_lists_of_ints_one_by_one(repository):
    edit(
        repository,
        ADD,
        "- func: zeros(SymInt[] size, *, bool? x=None) -> Tensor\n  out: false\n  kind: factory\n",
    )
    edit(
        repository,
        "def add(self, other, *, alpha=1)",
        "def zeros(size, *, x=None)",
        "ops/pointwise.py",
    )
    functions = generate(repository)[Path("src/aten/_generated/functions.pyi")]
    assert "def zeros(size: Sequence[_int], *, x: _bool | None = None) -> Tensor: ..." in functions
    assert "def zeros(*size: _int, x: _bool | None = None) -> Tensor:" in functions


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("Tensor other", "Tenso other", "native_functions.yaml:2: unknown type 'Tenso'"),
        (
            "func: add",
            "func: aten::add",
            "native_functions.yaml:2: 'func': write the schema without",
        ),
        (
            "inplace: true",
            "inplace: metod",
            "native_functions.yaml:3: 'inplace': 'metod' is not one",
        ),
        ("inplace: true", "in_place: true", "native_functions.yaml:3: 'in_place': unknown field"),
        ("inplace: true", "inplace: [a]", "native_functions.yaml:3: 'inplace': expected text"),
        ("inplace: true", "inplace_overload: x", "yaml:3: 'inplace_overload': needs 'inplace'"),
        ("inplace: true", "kind: scan", "native_functions.yaml:5: 'kind': given twice"),
        ("out: out", "out: a(b", "native_functions.yaml:4: 'out': expected true, 'overload' or"),
        (
            "out: out",
            "out: a(b, c)",
            "native_functions.yaml:4: 'out': 1 results need as many names",
        ),
        ("out: out", "out: Tensor", "native_functions.yaml:2: add.Tensor is defined at"),
        ("kind: pointwise", "kind: pontwise", "native_functions.yaml:5: 'kind': 'pontwise' is not"),
        (
            "kind: pointwise",
            "kind: pointwise\n  promotion: default",
            "native_functions.yaml:6: 'promotion': follows from the kind; leave it out",
        ),
        ("  kind: pointwise\n", "", "native_functions.yaml:2: 'kind': missing"),
        (
            "kind: pointwise",
            "kind: view\n  promotion: float",
            "native_functions.yaml:6: 'promotion': an operator of kind",
        ),
        (
            "kind: pointwise",
            "kind: pointwise\n  promotion: x",
            "native_functions.yaml:6: 'promotion': 'x' is not one",
        ),
        ("[core]", "[cor]", "native_functions.yaml:7: 'tags': 'cor' is not one of core"),
        ("[core]", "core", "native_functions.yaml:7: 'tags': expected a list"),
        *(
            (
                "tags: [core]",
                f"fast_path: {given}",
                f"native_functions.yaml:7: 'fast_path': {error}",
            )
            for given, error in (
                ("sort", "expected {kernel: …} or"),
                ("{kernels: a}", "'kernels' is not one of kernel, stands_for"),
                ("{stands_for: [mul]}", "needs 'kernel' or 'forwards'"),
                ("{kernel: a, forwards: b(self)}", "needs 'kernel' or 'forwards'"),
                ("{kernel: a, stands_for: mul}", "'stands_for': expected a list of names"),
                ("{kernel: a, unless: [alpha]}", "'unless' needs 'forwards'"),
                ("{forwards: mul(self), stands_for: [mul]}", "'stands_for' needs 'kernel'"),
                ("{forwards: mul}", "'forwards': expected 'operator(argument, …)'"),
                ("{forwards: mul(itself)}", "'forwards': 'itself' is neither an argument"),
                ("{forwards: mul(self), unless: [dtype]}", "'unless': 'dtype' is not an argument"),
            )
        ),
        (
            "tags: [core]",
            "native: x\n  fast_path: {kernel: y}",
            "native_functions.yaml:8: 'fast_path': the kernel named by 'native' serves every call",
        ),
        (
            "tags: [core]",
            "fast_path: {kernel: x, stands_for: [mul.out]}",
            "native_functions.yaml:2: the fast path of add.Tensor names mul.out, which has",
        ),
        (
            "tags: [core]",
            "fast_path: {forwards: nothing(self)}",
            "native_functions.yaml:2: the fast path of add.Tensor names nothing, which has",
        ),
        (
            "numbers_as_tensors: true",
            "numbers_as_tensors: 1",
            "yaml:6: 'numbers_as_tensors': expected",
        ),
        ("tags: [core]", "foreach: true", "yaml:7: 'foreach': the operator must take one tensor"),
        ("tags: [core]", "element: x", "yaml:7: 'element': an operator of kind pointwise has none"),
        (
            "kind: pointwise",
            "kind: foreach",
            "native_functions.yaml:2: 'element': missing",
        ),
        (
            "kind: pointwise",
            "kind: foreach\n  element: mul",
            "native_functions.yaml:2: add.Tensor: no functional mul",
        ),
        ("tags: [core]", "tags: [core", "native_functions.yaml:8: "),
        (
            "Tensor self, Tensor other",
            "Tensor x",
            "native_functions.yaml:2: in-place operator 'add_'",
        ),
        (ADD, "add: 1", "native_functions.yaml:1: expected a list of entries"),
        (ADD, "- add", "native_functions.yaml:1: expected an entry with 'func: …'"),
    ],
)
def test_errors_name_file_and_line(repository, capsys, old, new, message):
    edit(repository, old, new)
    with pytest.raises((RegistryError, SchemaError)) as caught:
        generate(repository)
    assert message in str(caught.value)
    assert main([f"--root={repository}"]) == 1
    assert message in capsys.readouterr().err


def test_functions_must_have_an_entry(repository):
    edit(repository, "def add", "def ad", "ops/pointwise.py")
    with pytest.raises(RegistryError, match=r"ops/pointwise.py:2: 'ad' has no entry"):
        generate(repository)


def test_functions_are_defined_once(repository):
    (repository / "src/aten/ops/reduction.py").write_text('@op("add")\ndef plus(): ...\n')
    with pytest.raises(
        RegistryError, match=r"reduction.py:2: 'add' is defined at ops/pointwise.py:2"
    ):
        generate(repository)


@pytest.mark.parametrize(
    ("schema", "kind", "function", "missing"),
    [
        ("total(Tensor self, int axis=0) -> Tensor", "reduction", "self, dim=0", "axis"),
        ("total(Tensor self, int axis=0) -> Tensor", "reduction", "self", "axis"),
        ("total(Tensor self, *, float eps=0.5) -> Tensor", "pointwise", "self, epsilon=0.5", "eps"),
        ("total(Tensor self, *, ScalarType? dtype=None) -> Tensor", "pointwise", "self", "dtype"),
        ("total(Tensor self, *, int axis=0) -> Tensor", "composite", "self, *, dim=0", "axis"),
        ("total(Tensor self, int axis=0) -> Tensor", "composite", "self", "axis"),
        ("total(Tensor self, int axis=0) -> Tensor", "composite", "called, self", "axis"),
        # As it should be: by name, made use of by the backends, or handed over by position.
        ("total(Tensor self, int axis=0) -> Tensor", "reduction", "self, axis=0", ""),
        ("total(Tensor self, *, ScalarType? dtype=None) -> Tensor", "reduction", "self", ""),
        ("total(Tensor self, int axis=0) -> Tensor", "reduction", "self, **options", ""),
        ("total(Tensor self, int axis=0) -> Tensor", "composite", "self, dim=0", ""),
        ("total(Tensor self, int axis=0) -> Tensor", "composite", "called, self, dim=0", ""),
        ("total(Tensor self, int axis=0) -> Tensor", "composite", "*given", ""),
        ("total(Tensor self, *, int axis=0) -> Tensor", "composite", "self, axis=0", ""),
    ],
)
def test_an_argument_that_the_function_would_never_see_is_refused(
    repository, capsys, schema, kind, function, missing
):
    edit(repository, ADD, f"{ADD}- func: {schema}\n  kind: {kind}\n")
    path = repository / "src/aten/ops/folds.py"
    path.write_text(f"@op\ndef total({function}): ...\n")
    assert main([f"--root={repository}"]) == (1 if missing else 0)
    if missing:
        message = (
            "native_functions.yaml:8: total: no parameter of the function at ops/folds.py:2 is "
            f"named '{missing}'; it has "
        )
        assert message in capsys.readouterr().err


def test_a_function_may_be_for_one_overload(repository):
    edit(repository, "@op\n", '@op("add.Tensor")\n', "ops/pointwise.py")
    assert table_of(repository)["OPERATORS"]["add.out"][4] == "aten.ops.pointwise:add"
    edit(repository, "add.Tensor", "add.Scalar", "ops/pointwise.py")
    with pytest.raises(RegistryError, match=r"'add.Scalar' has no entry"):
        generate(repository)


def test_a_kernel_of_the_cpu_is_for_those_overloads_that_have_kernels(repository):
    composite = "- func: total.vec(Tensor self, int[] axes) -> Tensor\n  kind: composite\n"
    explicit = "- func: total(Tensor self) -> Tensor\n  kind: explicit\n"
    edit(repository, ADD, ADD + explicit + composite)
    functions = '@op\ndef total(self): ...\n@op("total.vec")\ndef many(self, axes): ...\n'
    (repository / "src/aten/ops/folds.py").write_text(functions)
    kernels = repository / "src/aten/backends/cpu/operators"
    kernels.mkdir(parents=True)
    (kernels / "folds.py").write_text("@op\ndef total(self): ...\n")
    rows = table_of(repository)["OPERATORS"]
    assert rows["total"][5]["cpu"] == "aten.backends.cpu.operators.folds:total"
    assert "cpu" not in rows["total.vec"][5]
    (kernels / "folds.py").write_text('@op("total.vec")\ndef total(self, axes): ...\n')
    with pytest.raises(RegistryError, match=r"total.vec is of kind composite"):
        generate(repository)


def test_variants_of_special_forms(tmp_path):
    operators = operators_of(
        tmp_path,
        """\
- func: max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)
  kind: reduction
  out: dim_max(max, max_values)
- func: pow.Tensor_Scalar(Tensor self, Scalar exponent) -> Tensor
  kind: pointwise
  inplace: true
  inplace_overload: Scalar
- func: __and__.Tensor(Tensor self, Tensor other) -> Tensor
  kind: pointwise
  inplace: none
- func: eye(SymInt n, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? \
pin_memory=None) -> Tensor
  kind: factory
""",
    )
    schemas = {operator.key: str(operator.schema) for operator in operators}
    assert schemas["max.dim_max"] == (
        "max.dim_max(Tensor self, int dim, bool keepdim=False, *, Tensor(a!) max, "
        "Tensor(b!) max_values) -> (Tensor(a!) values, Tensor(b!) indices)"
    )
    assert schemas["pow_.Scalar"] == "pow_.Scalar(Tensor(a!) self, Scalar exponent) -> Tensor(a!)"
    assert "__iand__.Tensor" in schemas
    assert schemas["eye.out"] == "eye.out(SymInt n, *, Tensor(a!) out) -> Tensor(a!)"


def test_an_out_schema_that_follows_no_rule_is_written_whole(tmp_path):
    whole = (
        "both.into(Tensor(a!) state, *, Tensor(c!) one, Tensor(d!) two) -> (Tensor(c!), Tensor(d!))"
    )
    operators = operators_of(
        tmp_path,
        f"""
- func: both(Tensor(a!) state) -> (Tensor one, Tensor two)
  out: "{whole}"
  kind: explicit
""",
    )
    assert [str(operator.schema) for operator in operators][1:] == [whole]
    assert {operator.base for operator in operators} == {"both"}
    with pytest.raises(RegistryError, match="mutable, not functional"):
        operators_of(
            tmp_path, "- func: both(Tensor(a!) state) -> Tensor\n  out: true\n  kind: explicit\n"
        )


def test_operators_over_lists(tmp_path):
    operators = operators_of(
        tmp_path,
        """
- func: neg(Tensor self) -> Tensor
  inplace: true
  kind: pointwise
  foreach: true
- func: copy(Tensor self, Tensor src) -> Tensor
  kind: kernel
- func: copy_(Tensor(a!) self, Tensor src) -> Tensor(a!)
  kind: kernel
- func: _foreach_copy(Tensor[] self, Tensor[] src) -> Tensor[] self_out
  out: false
  kind: foreach
  element: copy
""",
    )
    listed = {str(one.schema): one.element for one in operators if one.entry.kind == "foreach"}
    assert listed == {
        "_foreach_neg(Tensor[] self) -> Tensor[]": "neg",
        "_foreach_neg_(Tensor(a!)[] self) -> ()": "neg_",
        "_foreach_neg.out(Tensor[] self, *, Tensor(a!)[] out) -> ()": "neg",
        "_foreach_copy(Tensor[] self, Tensor[] src) -> Tensor[] self_out": "copy",
        "_foreach_copy_(Tensor(a!)[] self, Tensor[] src) -> ()": "copy_",
    }


def test_resolution_order(tmp_path):
    operators = operators_of(
        tmp_path,
        """\
- func: f.Scalar(Tensor self, Scalar other) -> Tensor
  kind: explicit
- func: f.dims(Tensor self, int[] other) -> Tensor
  kind: explicit
  out: false
- func: f.Tensor(Tensor self, Tensor other) -> Tensor
  kind: explicit
- func: f.int(Tensor self, int other) -> Tensor
  kind: explicit
  out: false
""",
    )
    order = [operator.key for operator in packets(operators)["f"]]
    assert order == ["f.Tensor", "f.Scalar", "f.int", "f.dims", "f.Tensor_out", "f.Scalar_out"]


def test_the_repository_is_up_to_date():
    assert main(["--check", f"--root={ROOT}"]) == 0


def test_every_schema_is_torchs():
    from aten._generated.table import OPERATORS

    facts = {fact["schema"].removeprefix("aten::") for fact in FACTS}
    assert [row[0] for row in OPERATORS.values() if row[0] not in facts] == []


def test_variants_and_core_tags_are_torchs():
    from aten._generated.table import OPERATORS

    kinds = {"view": "functional", "mutating_other": "mutable"}
    facts = {fact["schema"].removeprefix("aten::"): fact for fact in FACTS}
    for schema, _, variant, base, _, options in OPERATORS.values():
        fact = facts[schema]
        assert variant == kinds.get(fact["kind"], fact["kind"]), schema
        assert base in OPERATORS, schema
        if variant == "functional":
            assert ("core" in options.get("tags", ())) == ("core" in fact["tags"]), schema


def test_packets_hold_every_overload_once():
    from aten._generated.table import FUNCTIONS, METHODS, OPERATORS, PACKETS

    assert sorted(key for keys in PACKETS.values() for key in keys) == sorted(OPERATORS)
    for packet, keys in PACKETS.items():
        assert all(FunctionSchema.parse(OPERATORS[key][0]).name.name == packet for key in keys)
    assert set(FUNCTIONS) <= set(PACKETS)
    assert set(METHODS) <= set(PACKETS)
