import AccelPrograms
import AccelTensors
import AccelWeightCompression

/// The nearest binary16 numbers: what is left of a result that Core ML keeps as fp16. Elementwise.
struct HalfRounding: Operator {
    static let name = "half"
    static let inputs: [OperatorInput] = [.x]
    init() {}
    init(attributes: Attributes) throws {}
    var attributes: Attributes { [:] }

    func outputTypes(_ inputs: [TensorType]) throws -> [TensorType] {
        try Self.check(inputs)
        return inputs
    }

    func evaluate(_ inputs: [HostTensor]) throws -> [HostTensor] {
        var floats = inputs[0].floats
        floats.roundToHalf()
        return [HostTensor(floats, inputs[0].shape)]
    }
}
