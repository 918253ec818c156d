import AccelPrograms
import AccelTensors

/// Elements as another type.
struct CastKernel: Kernel {
    static let operators: [any Operator.Type] = [Cast.self]
    private let source: OperandMemory
    private let target: OperandMemory

    init(_ call: PreparedCall) throws(Unsuitable) {
        (source, target) = (call.inputs[0], call.outputs[0])
        try call.require(source.isInMemory, "reads no stored weight")
        try call.require(
            source.elementType != .float16 && target.elementType != .float16
                || source.elementType == target.elementType,
            "rounds and widens no float16")
        try call.require(
            source.layout.isContiguous && target.layout.isContiguous, "reads and writes contiguous memory only")
    }

    var reason: String { "\(source.elementType.rawValue) to \(target.elementType.rawValue)" }

    var steps: [KernelStep] {
        switch (source.elementType, target.elementType) {
        case (.float32, .int64):
            [step { (x: Float) -> Int64 in Int64(exactly: x.rounded(.towardZero)) ?? 0 }]
        case (.bool, .int64): [step { (x: UInt8) -> Int64 in x != 0 ? 1 : 0 }]
        case (.int64, .float32): [step { (x: Int64) -> Float in Float(x) }]
        case (.bool, .float32): [step { (x: UInt8) -> Float in x != 0 ? 1 : 0 }]
        case (.float32, .bool): [step { (x: Float) -> UInt8 in x != 0 ? 1 : 0 }]
        case (.int64, .bool): [step { (x: Int64) -> UInt8 in x != 0 ? 1 : 0 }]
        default: [CopyKernel.step(from: source, to: target)]
        }
    }

    private func step<From: BitwiseCopyable, To: BitwiseCopyable>(
        _ function: @escaping @Sendable (From) -> To
    ) -> KernelStep {
        .rows(source.shape.count, width: 1) { range in
            guard let source = source.start(as: From.self), let target = target.start(as: To.self) else { return }
            for index in range { target[index] = function(source[index]) }
        }
    }
}
