public import AccelTensors

/// A voice of a model that speaks, such as those of Kokoro: a style for each length of a text.
///
///     let voice = try Voice(contentsOf: "af_heart.safetensors")
public struct Voice: Sendable {
    /// The longest text that it has a style for, in phonemes.
    public let longest: Int
    /// The numbers of a style, of which the first half is the speaker's sound and the second half their prosody.
    let width: Int
    private let styles: [Float]
    private let file: String

    /// Takes a voice from a tensor.
    /// - Parameter tensor: F32[lengths, 1, width] or F32[lengths, width], or of another type of floating point.
    /// - Throws: `AccelError` (corrupt) for a tensor of another shape or type, and for numbers that are not finite.
    public init(_ tensor: StoredTensor, file: String = "a voice") throws(AccelError) {
        let sizes = tensor.shape.dimensions
        let isTable = sizes.count == 2 || sizes.count == 3 && sizes[1] == 1
        guard isTable, tensor.shape.count > 0, sizes[sizes.count - 1] % 2 == 0, tensor.elementType.isFloatingPoint
        else {
            throw AccelError(
                .corrupt, expected: "F32[lengths,1,width] of an even width",
                found: "\(tensor.elementType.rawValue)\(tensor.shape)", at: file)
        }
        (longest, width, self.file) = (sizes[0], sizes[sizes.count - 1], file)
        styles = tensor.floats()
        guard styles.allSatisfy(\.isFinite) else {
            throw AccelError(.corrupt, "holds numbers that are not finite", at: file)
        }
    }

    /// Reads a voice from a safetensors file of one tensor.
    /// - Throws: `AccelError` (not found) for a file that cannot be read, and (corrupt) for one that is no voice.
    public init(contentsOf path: String) throws(AccelError) {
        let tensors: [StoredTensor]
        do { tensors = try SafetensorsFile(path).tensors } catch { throw AccelError(error, at: path) }
        guard let tensor = tensors.first, tensors.count == 1 else {
            throw AccelError(.corrupt, expected: "one tensor", found: "\(tensors.count)", at: path)
        }
        try self.init(tensor, file: path)
    }

    /// Returns the style of texts of a length: the speaker's sound, then their prosody.
    /// - Throws: `AccelError` (invalid) for a text without phonemes, and for one that is too long.
    func style(phonemes count: Int) throws(AccelError) -> (sound: [Float], prosody: [Float]) {
        guard 1...longest ~= count else {
            throw AccelError(
                .invalid, expected: "1 to \(longest) phonemes", found: "\(count)", at: "the text for \(file)")
        }
        let row = styles[(count - 1) * width..<count * width]
        return (Array(row.prefix(width / 2)), Array(row.suffix(width / 2)))
    }
}
