import AccelByteIO
import AccelCPURuntime
import AccelCalibration
import AccelPrograms
import AccelTensors

extension Golden {
    /// Returns for each row of a decoder's tokens the number of those that the golden's mask shows; nil if all count, or if a function reads
    /// the mask.
    /// - Throws: `RequestError` for padding in front of tokens, since the golden's outputs follow the rows as they are.
    func tokenCounts(for program: ModelPlan) throws -> [Int]? {
        let name = SampleInputs.maskName
        guard let mask = inputs[name], !program.functions.contains(where: { $0.input(.attentionMask) != nil }),
            let decoder = program.functions.first(where: { $0.input(.tokens) != nil && $0.input(.position) != nil }),
            let port = decoder.input(.tokens), inputs[port.name]?.shape == mask.shape
        else { return nil }
        let moved = try SampleInputs(inputs, file: path).withoutLeadingPadding(for: [decoder.interface])
        guard moved.tensors[name]?.bytes == mask.bytes else {
            throw RequestError(
                "\(path): \"in.\(name)\" hides positions in front of others; expected the padding of a golden behind its tokens"
            )
        }
        let counts = SampleInputs.lengths(of: HostTensor(mask))
        return counts.allSatisfy { $0 == mask.shape.dimensions[1] } ? nil : counts
    }
}
