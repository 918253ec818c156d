import AccelByteIO
import AccelPrograms
import AccelTensors
import AccelWeightCompression

/// The weights of a model plan as its runtime sees them: decoded from the stored bytes.
struct StoredWeights {
    let tensors: [CompressedTensor]
    private let indexByName: [String: Int]

    init(_ tensors: [CompressedTensor]) {
        self.tensors = tensors
        indexByName = Dictionary(tensors.enumerated().map { ($1.name, $0) }) { first, _ in first }
    }

    func index(of name: String) -> Int? { indexByName[name] }

    func tensor(at index: Int) throws -> HostTensor { try operand(at: index).tensor }

    /// Returns a weight that is decoded while it is read.
    func operand(at index: Int) throws -> ReferenceOperand {
        guard tensors.indices.contains(index) else {
            throw OperatorError("the plan is broken: weight \(index) does not exist")
        }
        let weight = tensors[index]
        return weight.elementType.isFloatingPoint
            ? ReferenceOperand(decoding: weight) : .tensor(Self.host(weight))
    }

    /// Returns the decoded weight; an integer or boolean table is returned unchanged.
    static func host(_ weight: CompressedTensor) -> HostTensor {
        if let source = verbatim(weight), !weight.elementType.isFloatingPoint { return HostTensor(source) }
        return HostTensor(weight.floats(), weight.shape)
    }

    /// Returns the stored bytes as a tensor if they have the checkpoint's type; nil for an encoding that has to be
    /// decoded.
    static func verbatim(_ weight: CompressedTensor) -> StoredTensor? {
        guard let bytes = weight.sections.first, weight.sections.count == 1,
            bytes.count == weight.shape.count * weight.elementType.byteCount
        else { return nil }
        return StoredTensor(name: weight.name, elementType: weight.elementType, shape: weight.shape, bytes: bytes)
    }
}
