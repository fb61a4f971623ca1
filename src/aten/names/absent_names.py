"""Names of torch that are not here, by family: which part of the project brings them, or why none.

What is here is found by looking, never listed. `tools/torch_names.py` looks, and fails where a name
of torch is neither here nor in a family, or in both. A name that ends in `*` stands for all that
begin so. `dense` families mean something for dense tensors on a CPU, and count as missing.
"""

from __future__ import annotations

from collections.abc import Iterator

PLANNED = "planned"
NEVER = "never"


class Family:
    """Names with one fate; `names` are by namespace: "torch", "Tensor", "nn.functional", …"""

    __slots__ = ("dense", "fate", "names", "reason")

    def __init__(self, fate: str, reason: str, dense: bool = False, **names: str) -> None:
        self.fate = fate
        self.reason = reason
        self.dense = dense
        self.names = {
            space.replace("_", "."): tuple(listed.split()) for space, listed in names.items()
        }

    def has(self, space: str, name: str) -> bool:
        """Whether the family names it."""
        return any(
            name == one or (one.endswith("*") and name.startswith(one[:-1]))
            for one in self.names.get(space, ())
        )


FAMILIES = (
    Family(
        PLANNED,
        "gradients are not in aten yet",
        torch="Gradient set_anomaly_enabled",
        nn_functional="grad",
    ),
    Family(
        PLANNED,
        "this layer, optimizer or helper of training is not in aten yet; aten.nn.functional has "
        "what layers compute",
        torch="ModuleDict ParameterDict BufferDict hub",
        nn="CrossMapLRN2d parallel DataParallel",
        utils="tensorboard",
        nn_utils="stateless",
    ),
    Family(
        PLANNED,
        "transformations of functions are not in aten yet",
        nn_functional="has_torch_function* handle_torch_function boolean_dispatch",
    ),
    Family(
        PLANNED,
        "this part of compiling and scripting is not in aten yet; programs are compiled, exported, "
        "traced and scripted, see aten.compile, aten.export and aten.jit",
        torch="fx SymInt SymFloat SymBool sym_constrain_range* "
        "sym_fresh_size cpp Graph Node fork wait Future futures package monitor onnx",
        compiler="set_stance cudagraph_mark_step_begin "
        "assume_constant_result wrap_numpy substitute_in_graph",
        jit="trace_module fork wait optimize_for_inference optimized_execution script_method "
        "annotate isinstance enable_onednn_fusion fuser",
    ),
    Family(
        PLANNED,
        "sparse tensors are not in aten yet",
        torch="sparse sparse_* smm spmm hspmm dsmm hsmm saddmm sspaddmm ccol_indices_copy "
        "col_indices_copy crow_indices_copy row_indices_copy indices_copy values_copy "
        "resize_as_sparse_ native_norm",
        Tensor="coalesce is_coalesced indices values crow_indices col_indices ccol_indices "
        "row_indices to_sparse* sparse_mask sparse_resize_* smm sspaddmm resize_as_sparse_",
    ),
    Family(
        PLANNED,
        "nested tensors are not in aten yet",
        torch="nested",
        Tensor="to_padded_tensor",
    ),
    Family(
        PLANNED,
        "quantized tensors are not in aten yet",
        torch="ao quantization quantize_per_* quantized_* empty_quantized "
        "fused_moving_avg_obs_fake_quant choose_qparams_optimized int_repr q_scale q_zero_point "
        "q_per_channel_* qscheme per_channel_* per_tensor_* fbgemm_* QInt* QUInt* bit",
        Tensor="int_repr q_scale q_zero_point q_per_channel_* qscheme",
    ),
    Family(
        PLANNED,
        "products of scaled 8-bit and 4-bit numbers and of groups are not in aten yet",
        dense=True,
        nn_functional="grouped_mm scaled_grouped_mm scaled_mm ScalingType SwizzleType",
    ),
    Family(
        PLANNED,
        "timers around the profiler are not in aten yet; aten.profiler is",
        utils="bottleneck benchmark",
    ),
    Family(
        PLANNED,
        "work on several machines and processes is not in aten yet",
        torch="distributed multiprocessing prepare_multiprocessing_environment",
    ),
    Family(
        PLANNED,
        "streams and events belong to devices that are not in aten yet",
        torch="Stream StreamObjType Event DeviceObjType",
        Tensor="record_stream",
    ),
    Family(
        NEVER,
        "aten.load executes nothing, and so there is nothing to allow; see aten.load and aten.save",
        torch="serialization PyTorchFileReader PyTorchFileWriter DeserializationStorageContext "
        "SerializationStorageContext DeepCopyMemoTable ScriptModuleSerializer",
    ),
    Family(
        NEVER,
        "torch deprecated storages with a type; use untyped_storage()",
        dense=True,
        torch="BFloat16Storage BoolStorage ByteStorage CharStorage ComplexDoubleStorage "
        "ComplexFloatStorage DoubleStorage FloatStorage HalfStorage IntStorage LongStorage "
        "ShortStorage Storage StorageBase TypedStorage storage",
        Tensor="storage storage_type",
    ),
    Family(
        NEVER,
        "torch removed it; aten.linalg has what took its place",
        torch="eig lstsq matrix_rank solve symeig",
        Tensor="eig lstsq solve symeig",
    ),
    Family(
        NEVER,
        "torch removed it; aten.distributions has log_prob",
        Tensor="reinforce",
    ),
    Family(
        NEVER,
        "not written yet, and nobody has asked for it",
        dense=True,
        torch="lobpcg quasirandom",
    ),
    Family(
        NEVER,
        "part of how torch works inside",
        torch="profiler_allow_cudagraph_cupti_lazy_reinit_cuda12 "
        "AggregationType AVG SUM AliasDb Capsule ExcludeDispatchKeyGuard FatalError "
        "LockingLogger LoggerBase NoopLogger BenchmarkConfig BenchmarkExecutionStats "
        "ThroughputBenchmark PRIVATE_OPS USE_GLOBAL_DEPS USE_RTLD_GLOBAL_WITH_LIBTORCH "
        "classproperty get_file_path unify_type_list OperatorInfo FileCheck "
        "Tag FunctionSchema "
        "parse_schema parse_type_comment merge_type_from_type_comment",
        Tensor="index",
        nn_functional="BroadcastingList* DType GRID_SAMPLE_* assert_int_or_pair "
        "reproducibility_notes sparse_support_notes tf32_notes",
        linalg="common_notes",
        profiler="DeviceType ExecutionTraceObserver KinetoStepTracker RecordScope is_fbcode itt "
        "kineto_available register_optimizer_step_post_hook",
        fft="common_args factory_common_args",
        special="common_args multi_dim_common",
    ),
    Family(
        NEVER,
        "a module of Python or of torch that torch happens to show",
        torch="TYPE_CHECKING builtins ctypes functools glob importlib inspect math os platform sys "
        "textwrap threading torch types warnings torch_version windows",
        nn_functional="Callable Optional TYPE_CHECKING Tensor dataclasses importlib math np torch "
        "warnings",
        fft="Tensor torch",
        special="Tensor torch",
        profiler="Any Optimizer TypeVarTuple Unpack os profiler",
    ),
    Family(
        NEVER,
        "TorchScript, which torch deprecated",
        torch="AnyType Argument ArgumentSpec AwaitType Block BoolType CallStack ClassType Code "
        "CompilationUnit CompleteArgumentSpec ComplexType ConcreteModuleType* DictType EnumType "
        "ErrorReport ExecutionPlan FloatType FutureType GraphExecutorState IODescriptor "
        "InferredType IntType InterfaceType JITException ListType LiteScriptModule NoneType "
        "NumberType OptionalType PyObjectType RRefType Script* StaticModule StringType "
        "RRefType SymBoolType SymIntType TensorType TracingState TupleType Type UnionType Use "
        "Value classes import_ir_module* parse_ir",
    ),
    Family(
        NEVER,
        "a kernel of a library for other processors, or a layout of its own",
        torch="set_autocast_ipu* set_autocast_xla* get_autocast_ipu_dtype "
        "get_autocast_xla_dtype is_autocast_ipu_enabled "
        "is_autocast_xla_enabled cudnn_* miopen_* mkldnn_* batch_norm_backward_* batch_norm_elemt "
        "batch_norm_gather_stats* batch_norm_stats batch_norm_update_stats",
        Tensor="to_mkldnn",
    ),
    Family(
        NEVER,
        "dimensions have no names here, and in torch no more",
        torch="",
        Tensor="names rename rename_ refine_names align_to align_as has_names",
    ),
)


def reason_for(space: str, name: str) -> str | None:
    """Why `name` is not in the namespace, in one line; None where nothing is known of it."""
    family = family_of(space, name)
    if family is None:
        return None
    return f"{family.reason} ({family.fate})"


def family_of(space: str, name: str) -> Family | None:
    """The family that names it, or None."""
    return next((family for family in FAMILIES if family.has(space, name)), None)


def names_in(space: str) -> Iterator[str]:
    """The names written out in full for a namespace."""
    for family in FAMILIES:
        yield from (name for name in family.names.get(space, ()) if not name.endswith("*"))
