import AccelByteIO
import AccelConversion
import AccelFormats
import AccelPackages
import AccelTensors
import AccelVerification

/// The kind of file or folder at a path: a model of one of the formats, or another kind that commands read or reject
/// with advice.
struct PathKind: Hashable, Sendable {
    /// The name, one word.
    let name: String
    /// The name with its article, for errors.
    let title: String

    /// A model of a format.
    init(_ format: any ModelFormat.Type) { self.init(format.name, format.title) }

    private init(_ name: String, _ title: String) { (self.name, self.title) = (name, title) }

    static let formats = ModelFormats.all.map { PathKind($0) }
    static let package = PathKind(AcceleratorPackageFormat.self)
    static let coreML = PathKind(CoreMLFormat.self)
    static let checkpoint = PathKind(HuggingFaceFormat.self)
    static let gguf = PathKind(GGUFFormat.self)

    /// A file of tensors: values for a run, or the weights of a model.
    static let tensors = PathKind("tensors", "a safetensors file")
    static let onnx = PathKind("onnx", "an ONNX file")
    static let pickle = PathKind("pickle", "a Python pickle, which is never read")
    static let archive = PathKind("archive", "a zip archive")
    static let recordedRuns = PathKind("recorded-runs", "a folder of recorded runs (verify-record)")
    static let recipe = PathKind("recipe", "a recipe")
    static let report = PathKind("report", "a report of verify")
    static let plan = PathKind("plan", "a folder of a compression plan")

    /// Kinds that the check accepts, so that the code that opens models rejects them with its own advice.
    private static let rejected = [onnx, pickle, archive]
    private static let foreign: [ForeignFormat: PathKind] = [.onnx: onnx, .pickle: pickle, .zip: archive]

    /// The kinds for commands that read a model of any format.
    static let models = formats + [tensors] + rejected

    /// Creates the kind of the file or folder at a path, by its content, or by its name if the content is too damaged
    /// to be recognised; nil if the kind is unknown.
    init?(of path: String) {
        guard let kind = Self.kinds(of: path).first else { return nil }
        self = kind
    }

    /// Returns all kinds that a path may have: a file of tensors may also be a model's weights.
    static func kinds(of path: String) -> [PathKind] {
        let path = Files.trimmingSlashes(path)
        let format = ModelFormats.recognising(path)
        let other: PathKind?
        switch Files.kind(of: path) {
        case .folder?:
            other =
                folders.first { kind in
                    kind.marks.allSatisfy { Files.kind(of: "\(path)/\($0)") == .file }
                }?.kind
        case .file?: other = file(path, isModel: format != nil)
        default: return []
        }
        let model = format ?? (other == nil ? ModelFormats.named(by: path) : nil)
        return [other, model.map { PathKind($0) }].compactMap(\.self)
    }

    /// Folders that are not models, with the files that mark them.
    private static let folders: [(kind: PathKind, marks: [String])] = [
        (recordedRuns, ["runs.json", "inputs.safetensors"]),
        (plan, [SolvedTarget.choiceName, SolvedTarget.recipeName]),
    ]

    /// - Parameter isModel: a format has recognised the file, so that neither its name nor being an archive counts.
    private static func file(_ path: String, isModel: Bool) -> PathKind? {
        let start = (try? MappedFile(path).bytes).map { $0[0..<min($0.count, 16)].withBytes { Array($0) } } ?? []
        let format = ForeignFormat(start)
        // A number of 123 tensors looks like the begin of a header.
        if isModel, format == .gguf { return nil }
        // A header of 640 bytes begins like a pickle.
        if WeightsFormat.recognises(path) { return .tensors }
        if format == .pickle || format == .onnx { return format.flatMap { foreign[$0] } }
        // What is no archive at all may be a damaged package.
        if format == .zip, !isModel, path.hasSuffix(".zip"), (try? ZipArchive(MappedFile(path))) != nil {
            return .archive
        }
        if isModel || ModelFormats.named(by: path) != nil { return nil }
        if let kind = document(path, start) { return kind }
        if path.hasSuffix(".safetensors") { return .tensors }
        if !start.isEmpty, let kind = ForeignFormat(named: path).flatMap({ foreign[$0] }) { return kind }
        return format == .zip ? .archive : nil
    }

    /// Returns the kind of a JSON document of accelc: a report says that it is one, and a recipe has a default, or rules for a target.
    /// - Parameter start: the first bytes of the file.
    private static func document(_ path: String, _ start: [UInt8]) -> PathKind? {
        let isNamed = path.hasSuffix(".json")
        guard isNamed || start.first == UInt8(ascii: "{"),
            Files.identity(of: path).map({ $0.size <= documentBytes }) == true,
            let document = try? JSON.read(path)
        else { return nil }
        if WrittenReport.report(in: document) != nil { return .report }
        let isRecipe = document["default"] != nil || document["rules"] != nil
        return isRecipe ? .recipe : nil
    }

    /// No recipe and no report is larger.
    private static let documentBytes = 64 << 20

    /// Returns the accepted kinds in words.
    static func titles(of takes: [PathKind]) -> String {
        Text.alternatives(takes.filter { !rejected.contains($0) }.map(\.title))
    }
}

extension Arguments {
    /// Rejects a path of a kind that its argument does not accept. The command itself handles unknown kinds and missing
    /// files.
    func requireKinds() throws {
        for positional in command.positionals where !positional.takes.isEmpty {
            for path in all(positional) { try require(positional.takes, path, "as \(positional.name)") }
        }
        for option in command.allOptions where !option.takes.isEmpty && has(option) {
            for path in all(option) { try require(option.takes, path, "for --\(option.name)") }
        }
    }

    private func require(_ takes: [PathKind], _ path: String, _ argument: String) throws {
        let (kinds, found) = (PathKind.kinds(of: path), Files.kind(of: path))
        func rejection(_ problem: String) -> RequestError {
            RequestError("\(problem); \(command.name) takes \(PathKind.titles(of: takes)) \(argument)")
        }
        if takes == [.tensors], found == .folder { throw rejection("\(path) is a folder") }
        if found == .file, let folder = folder(ofPart: path, kinds, takes) {
            throw rejection("\(path) is one file of \(folder.isEmpty ? "." : folder)")
        }
        guard let kind = kinds.first else {
            switch found {
            case nil:
                // Values, text or standard input in place of a file.
                guard takes == [.tensors], path == "-" || path.contains(where: { "=, ".contains($0) }) else { return }
                throw rejection("there is no file \(quoted(path))")
            case .file, .folder:
                guard takes == [.package] else { return }
                throw rejection("\(path) is no package")
            case let other?:
                throw FormatError(file: path, reason: "expected a regular file or a folder, found \(other)")
            }
        }
        guard !kinds.contains(where: takes.contains) else { return }
        throw rejection("\(path) is \(kind.title)")
    }

    /// Returns the folder of a model or package that a file is one of, where only the whole is accepted; nil for other files.
    private func folder(ofPart path: String, _ kinds: [PathKind], _ takes: [PathKind]) -> String? {
        let (name, folder) = (Files.name(of: path), Files.parentFolder(of: path) ?? ".")
        let isOfModel =
            ["config.json", "tokenizer.json", "generation_config.json"].contains(name)
            || name.hasSuffix(".safetensors.index.json")
        if isOfModel, takes.contains(.checkpoint) { return folder }
        let documents: [PathKind] = [.report, .recipe, .tensors]
        let isAccepted = kinds.contains { documents.contains($0) && takes.contains($0) }
        return takes.contains(.package) && !isAccepted && AcceleratorPackage.looksLikePackage(at: folder) ? folder : nil
    }
}
