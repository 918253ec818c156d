import AccelPrograms
import AccelTensors
import AccelWeightCompression

/// Rounds each element to the nearest binary16 number, like results that Core ML stores as fp16.
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
