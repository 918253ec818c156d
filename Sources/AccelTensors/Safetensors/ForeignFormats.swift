package import AccelByteIO

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

    /// The suffixes that identify a format.
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

    /// The description of a file of the format, e.g. `a GGUF file`.
    package var title: String {
        switch self {
        case .pickle: "a Python pickle, which can run code when it is read"
        case .zip: "a zip archive, as torch.save writes it, with a Python pickle inside"
        case .gguf: "a GGUF file"
        case .onnx: "an ONNX model"
        case .gitPointer: "a Git LFS pointer"
        case .hdf5: "an HDF5 file"
        case .numpy: "an array of NumPy"
        case .image: "an image"
        case .sound: "a sound"
        case .text: "text"
        }
    }
}

extension Diagnostic.Code {
    /// Weights are in a Python pickle, which is never read.
    package static let pickledWeights: Self = "pickled-weights"
}

/// Returns the error about a file of another format instead of a safetensors file; nil for unknown bytes.
func foreignFormat(_ file: ByteView, named name: String) -> FormatError? {
    guard let format = ForeignFormat(file[0..<min(file.count, 64)].withBytes { Array($0) }) else { return nil }
    let isPointer = format == .gitPointer
    return FormatError(
        file: name, location: .offset(0),
        reason: isPointer ? GitPointer.advice : "this is \(format.title), expected safetensors",
        code: format == .pickle || format == .zip ? .pickledWeights : nil)
}

/// Returns whether a file name is that of a Python pickle.
func isPickleName(_ name: String) -> Bool { ForeignFormat.pickleSuffixes.contains { name.hasSuffix($0) } }
