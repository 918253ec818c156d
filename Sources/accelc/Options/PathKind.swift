import AccelByteIO
import AccelFormats
import AccelPackages
import AccelTensors

/// What stands at a path: by what it holds, and by its name only where it is too broken to be recognised. Every command
/// asks this one.
enum PathKind: CaseIterable {
    case package, coreML, model, tensors, gguf, onnx, pickle, archive, recordedRuns, plan
    case otherFolder, otherFile
    /// Neither a file nor a folder, or nothing at all.
    case nothing

    init(of path: String) {
        let path = Files.trimmingSlashes(path)
        switch Files.kind(of: path) {
        case .folder?: self = Self.folder(path)
        case .file?: self = Self.file(path)
        default: self = .nothing
        }
    }

    /// Of a package to be opened, whether or not it is there: by its name where nothing else is known of it.
    static func ofPackage(_ path: String) -> PathKind {
        let kind = PathKind(of: path)
        return [.nothing, .otherFolder, .otherFile].contains(kind) ? byName(path) ?? kind : kind
    }

    private static func folder(_ path: String) -> PathKind {
        func has(_ names: String...) -> Bool { names.allSatisfy { Files.kind(of: "\(path)/\($0)") == .file } }
        if AcceleratorPackage.looksLikePackage(at: path) { return .package }
        if CoreMLPackage.isPackage(path) { return .coreML }
        if has("runs.json", "inputs.safetensors") { return .recordedRuns }
        if has("front.json", "recipe.json") { return .plan }
        if let kind = byName(path), kind == .package || kind == .coreML { return kind }
        let names = (try? Files.list(path)) ?? []
        let isModel = names.contains { name in
            name == "config.json" || name.hasSuffix(".safetensors") || name.hasSuffix(".safetensors.index.json")
        }
        return isModel ? .model : .otherFolder
    }

    private static func file(_ path: String) -> PathKind {
        if AcceleratorPackage.looksLikePackage(at: path) { return .package }
        let start = (try? MappedFile(path).bytes).map { $0[0..<min($0.count, 16)].withBytes { Array($0) } } ?? []
        let format = ForeignFormat(start)
        if format == .gguf { return .gguf }
        if format == .pickle { return .pickle }
        // A safetensors header is a JSON object after its length.
        if start.count > 8, start[8] == UInt8(ascii: "{"), start[6] == 0, start[7] == 0 { return .tensors }
        if let kind = byName(path) { return kind }
        return format == .zip ? .archive : .otherFile
    }

    private static let suffixes: [(String, PathKind)] =
        [
            (".accelpkg", .package), (".zip", .package), (".mlpackage", .coreML), (".safetensors", .tensors),
            (".safetensors.index.json", .model), (".gguf", .gguf), (".onnx", .onnx),
        ] + ForeignFormat.pickleSuffixes.map { ($0, .pickle) }

    private static func byName(_ path: String) -> PathKind? {
        let name = Files.trimmingSlashes(path)
        return suffixes.first { name.hasSuffix($0.0) }?.1
    }

    /// With its article, for errors.
    var name: String {
        switch self {
        case .package: "an accelerator package (.accelpkg)"
        case .coreML: "a Core ML package (.mlpackage)"
        case .model: "a model"
        case .tensors: "a safetensors file"
        case .gguf: "a GGUF file"
        case .onnx: "an ONNX file"
        case .pickle: "a Python pickle, which is never read"
        case .archive: "a zip archive"
        case .recordedRuns: "a folder of recorded runs (verify record)"
        case .plan: "a folder of a compression plan"
        case .otherFolder: "a folder"
        case .otherFile: "a file"
        case .nothing: "nothing"
        }
    }

    /// What converting commands take, and what they refuse with advice of their own.
    static let models: [PathKind] = [.model, .tensors, .gguf, .onnx, .pickle, .archive]
}

extension Arguments {
    /// Refuses a path at which something else stands than its place on the command line takes. What cannot be told, or is
    /// not there, is left to the command.
    func requireKinds() throws {
        for positional in command.positionals where !positional.takes.isEmpty {
            for path in all(positional) { try require(positional.takes, path, "as \(positional.name)") }
        }
        for option in command.allOptions where !option.takes.isEmpty && has(option) {
            for path in all(option) { try require(option.takes, path, "for --\(option.name)") }
        }
    }

    private func require(_ takes: [PathKind], _ path: String, _ place: String) throws {
        let kind = PathKind(of: path)
        if kind == .nothing, let other = Files.kind(of: path) {
            throw FormatError(file: path, reason: "expected a regular file or a folder, found \(other)")
        }
        guard !takes.contains(kind), ![.otherFolder, .otherFile, .nothing].contains(kind) else { return }
        let wanted = takes.filter { ![.gguf, .onnx, .pickle, .archive].contains($0) }.map(\.name)
        throw RequestError(
            "\(path) is \(kind.name); \(command.name) takes \(wanted.joined(separator: " or ")) \(place)")
    }
}
