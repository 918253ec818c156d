import AccelByteIO
import AccelPrograms
import AccelTensors
import AccelWeightCompression

extension SourceModel {
    /// Returns the model with the element types of another one, of which its files are an export, as a package has them: numbers of 16
    /// bits, and float32 that 16 bits hold, are encodings of the other type in these bits. What is as in the other model stays.
    /// - Throws: `RequestError` if the decoded weights need more memory than the machine has.
    package func stating(typesOf other: SourceModel) throws -> SourceModel {
        let originals = Dictionary(
            other.programs.flatMap(\.constants).filter(\.isWeight).compactMap { constant in
                constant.tensor.map { (constant.name, $0) }
            }
        ) { first, _ in first }
        let types = originals.mapValues(\.elementType)
        var (stated, encoded) = ([String: StoredTensor](), encoded)
        let weights = programs.flatMap(\.constants).filter(\.isWeight).compactMap(\.tensor)
        try MachineMemory.require(
            MachineMemory.sum(
                weights.filter { types[$0.name] ?? $0.elementType != $0.elementType }.map { $0.shape.count * 4 }),
            for: "the decoded weights of the export")
        for weight in weights {
            if let own = encoded[weight.name] {
                // Codes are of numbers of any type; some files do not say which these had.
                guard let type = types[weight.name], own.elementType != type, let plain = Self.codec(of: type) else {
                    continue
                }
                encoded[weight.name] = try own.stated(as: type)
                stated[weight.name] = try weight.rounded(to: type, by: plain)
                continue
            }
            guard let type = types[weight.name], let plain = Self.codec(of: type) else { continue }
            if weight.elementType == type, weight.bytes == originals[weight.name]?.bytes { continue }
            let halves = [type, .bfloat16, .float16].lazy.compactMap(weight.narrowed).first ?? weight
            guard halves.elementType != type else {
                if weight.elementType != type { stated[weight.name] = halves }
                continue
            }
            guard halves.elementType != .float32, let codec = Self.codec(of: halves.elementType) else { continue }
            encoded[weight.name] = try EncodedWeight(
                name: weight.name, elementType: type, shape: weight.shape, codec: codec, file: weight.file
            ) { [halves.bytes] }
            guard weight.elementType != type else { continue }
            stated[weight.name] = try weight.rounded(to: type, by: plain)
        }
        return try replacing(stated, encoded: encoded)
    }

    /// Returns the codec that stores numbers of a type as they are; nil for types that are no codec's.
    private static func codec(of type: ElementType) -> (any WeightCodec)? {
        let names: [ElementType: String] = [.float32: "float32", .float16: "float16", .bfloat16: "bfloat16"]
        return names[type].flatMap { try? Codecs.codec($0) }
    }
}

extension StoredTensor {
    /// Returns its numbers in another type.
    /// - Parameter codec: stores numbers of that type as they are.
    fileprivate func rounded(to type: ElementType, by codec: any WeightCodec) throws -> StoredTensor {
        let values = try CompressedTensor.compressing(self, with: codec, threads: 1).tensor
        return StoredTensor(name: name, elementType: type, shape: shape, bytes: values.sections[0], file: file)
    }
}
