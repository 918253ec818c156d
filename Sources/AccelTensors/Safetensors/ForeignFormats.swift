import AccelByteIO

/// A file format other than safetensors, recognised by its first bytes.
public enum ForeignFormat: Sendable {
    /// Never read, because reading a pickle executes code.
    case pickle
    /// A zip archive.
    case zip
    /// A GGUF file.
    case gguf
    /// An ONNX model.
    case onnx
    /// A Git LFS pointer in place of the file.
    case gitPointer
    /// An HDF5 file.
    case hdf5
    /// An array of NumPy.
    case numpy
    /// A picture: PNG, JPEG or GIF.
    case image
    /// A sound: WAV, FLAC, Ogg or MP3.
    case sound
    /// Text, such as sentences to calibrate with, or a web page in place of a file.
    case text

    /// The suffixes of pickles' names.
    public static let pickleSuffixes = [".bin", ".pt", ".pth", ".ckpt", ".pkl", ".pickle"]

    /// The suffixes that tell a format.
    public static let suffixes = formats.map(\.0)

    private static let formats: [(String, ForeignFormat)] =
        [(".gguf", .gguf)] + pickleSuffixes.map { ($0, .pickle) } + [(".onnx", .onnx), (".h5", .hdf5)]

    /// Recognises a format.
    /// - Parameter start: the first bytes of a file, up to 64.
    /// - Returns: Nil for unknown bytes.
    public init?(_ start: [UInt8]) {
        func starts(_ text: String) -> Bool { start.starts(with: text.utf8) }
        if start.count >= 2, start[0] == 0x80, (2...5).contains(start[1]) {
            self = .pickle
        } else if start.starts(with: [0x50, 0x4B, 3, 4]) {
            self = .zip
        } else if starts("GGUF") {
            self = .gguf
        } else if starts(GitPointer.start) {
            self = .gitPointer
        } else if starts("\u{89}HDF") || start.starts(with: [0x89, 0x48, 0x44, 0x46]) {
            self = .hdf5
        } else if start.starts(with: [0x93]), start.dropFirst().starts(with: "NUMPY".utf8) {
            self = .numpy
        } else if [[0x89, 0x50, 0x4E, 0x47], [0xFF, 0xD8, 0xFF]].contains(where: start.starts) || starts("GIF8") {
            self = .image
        } else if ["RIFF", "fLaC", "OggS", "ID3"].contains(where: starts) {
            self = .sound
        } else if Self.isModelProto(start) {
            self = .onnx
        } else if Self.isText(start) || Self.isUTF16(start) {
            self = .text
        } else {
            return nil
        }
    }

    /// Recognises a format by the suffix of a file's name; nil for other names.
    public init?(named name: String) {
        guard let format = Self.formats.first(where: { name.hasSuffix($0.0) })?.1 else { return nil }
        self = format
    }

    /// Returns whether bytes begin as ONNX files do: with the version of the format (field 1), then the producer's name (field 2).
    private static func isModelProto(_ start: [UInt8]) -> Bool {
        guard start.count > 4, start[0] == 0x08, (1...20).contains(start[1]), start[2] == 0x12 else { return false }
        let name = start[4...].prefix(Int(start[3]))
        return !name.isEmpty && name.allSatisfy { (0x20...0x7E).contains($0) }
    }

    /// Returns whether bytes begin with the byte order mark of UTF-16, and with more than the length of a small header.
    private static func isUTF16(_ start: [UInt8]) -> Bool {
        [[0xFF, 0xFE], [0xFE, 0xFF]].contains(Array(start.prefix(2)))
            && start.dropFirst(4).prefix(4).contains { $0 != 0 }
    }

    /// Returns whether bytes are UTF-8 without control characters. The last character may be cut.
    private static func isText(_ start: [UInt8]) -> Bool {
        let isPlain = start.allSatisfy { $0 >= 0x20 && $0 != 0x7F || (0x09...0x0D).contains($0) }
        guard !start.isEmpty, isPlain else { return false }
        return (0...3).contains { String(validating: start.dropLast($0), as: UTF8.self) != nil }
    }

    /// The advice for a user who passes such a file instead of a safetensors file.
    var advice: String {
        switch self {
        case .pickle: "this is a Python pickle, which can run code when it is read; \(conversionAdvice)"
        case .zip: "this is a zip archive, as torch.save writes it, with a Python pickle inside; \(conversionAdvice)"
        case .gguf: "this is a GGUF file, expected safetensors"
        case .onnx: "this is an ONNX model, which is not read; \(Self.checkpointAdvice)"
        case .gitPointer: GitPointer.advice
        case .hdf5: "this is an HDF5 file, expected safetensors"
        case .numpy:
            "this is an array of NumPy, expected safetensors: safetensors.numpy.save_file({\"NAME\": array}, \"FILE\") in Python "
                + "writes one, NAME being that of the tensor"
        case .image: "this is an image, expected safetensors"
        case .sound: "this is a sound, expected safetensors"
        case .text: "this is text, expected safetensors"
        }
    }

    /// The rest of the advice where a file of inputs is expected: what makes tensors of such a file; nil where nothing is to be said.
    private var inputAdvice: String? {
        switch self {
        case .image: "inputs are tensors, such as the pixel values that the model's image processor makes"
        case .sound: "inputs are tensors, such as the features that the model's feature extractor makes"
        case .text:
            "inputs are tensors: of text, the tokens that the model's tokenizer makes of it, I64 or I32 [batch,tokens]"
        case .pickle, .zip, .gguf, .onnx, .gitPointer, .hdf5, .numpy: nil
        }
    }

    /// Returns the advice about a file that a reader of inputs refused with a reason.
    fileprivate static func inputAdvice(refused reason: String) -> String? {
        [.image, .sound, .text].first { (format: Self) in format.advice == reason }?.inputAdvice
    }

    /// The rest of a sentence about a model's folder that has no weights but in a file of this format.
    func advice(on file: String) -> String {
        switch self {
        case .pickle: "a Python pickle, which is never read; \(conversionAdvice)"
        case .gguf: "a GGUF file: name that file itself (\(file)) as the model"
        case .onnx: "an ONNX model, which is not read; \(Self.checkpointAdvice)"
        case .zip, .gitPointer, .hdf5, .numpy, .image, .sound, .text: "which is not read; \(conversionAdvice)"
        }
    }

    private static let checkpointAdvice =
        "take the checkpoint that it was exported from: a folder with config.json and *.safetensors"
}

extension SafetensorsFile {
    /// Reads a file of inputs or samples, where users may give the text, sound or image itself.
    package static func reading<Result>(inputs read: () throws -> Result) throws -> Result {
        do {
            return try read()
        } catch let error as FormatError {
            guard let advice = ForeignFormat.inputAdvice(refused: error.reason) else { throw error }
            throw FormatError(file: error.file, location: error.location, reason: "\(error.reason); \(advice)")
        }
    }
}

/// Returns the advice for a user who passes another format instead of a safetensors file; nil for unknown bytes.
func foreignFormat(_ file: ByteView) -> String? {
    ForeignFormat(file[0..<min(file.count, 64)].withBytes { Array($0) })?.advice
}

let conversionAdvice = "save the model as safetensors first (in transformers: save_pretrained)"

/// Returns whether a file name is that of a Python pickle.
func isPickleName(_ name: String) -> Bool { ForeignFormat.pickleSuffixes.contains { name.hasSuffix($0) } }
