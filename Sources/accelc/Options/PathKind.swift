import AccelByteIO
import AccelConversion
import AccelFormats
import AccelPackages
import AccelTensors
import AccelVerification

/// The kind of file or folder at a path: a model of one of the formats, or another kind that commands read or refuse
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

    /// A file of tensors: values for a run, or the weights of a model.
    static let tensors = PathKind("tensors", "a safetensors file")
    static let gguf = PathKind("gguf", "a GGUF file")
    static let onnx = PathKind("onnx", "an ONNX file")
    static let pickle = PathKind("pickle", "a Python pickle, which is never read")
    static let archive = PathKind("archive", "a zip archive")
    static let recordedRuns = PathKind("recorded-runs", "a folder of recorded runs (verify-record)")
    static let recipe = PathKind("recipe", "a recipe")
    static let report = PathKind("report", "a report of verify")
    static let plan = PathKind("plan", "a folder of a compression plan")

    /// Kinds that the check accepts, so that the code that opens models refuses them with its own advice.
    private static let refused = [gguf, onnx, pickle, archive]

    /// The kinds for commands that read a model of any format.
    static let models = formats + [tensors] + refused

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
        if format == .gguf { return .gguf }
        // A header of 640 bytes begins like a pickle.
        if WeightsFormat.recognises(path) { return .tensors }
        if format == .pickle { return .pickle }
        if format == .onnx { return .onnx }
        // What is no archive at all may be a damaged package.
        if format == .zip, !isModel, path.hasSuffix(".zip"), (try? ZipArchive(MappedFile(path))) != nil {
            return .archive
        }
        if isModel || ModelFormats.named(by: path) != nil { return nil }
        if let kind = document(path, start) { return kind }
        if path.hasSuffix(".safetensors") { return .tensors }
        if let kind = ForeignFormat(named: path).flatMap(Self.kind(of:)) { return kind }
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

    private static func kind(of format: ForeignFormat) -> PathKind? {
        switch format {
        case .gguf: .gguf
        case .onnx: .onnx
        case .pickle: .pickle
        case .zip: .archive
        case .gitPointer, .hdf5, .numpy, .image, .sound, .text: nil
        }
    }

    /// Returns the accepted kinds in words.
    static func titles(of takes: [PathKind]) -> String {
        let titles = takes.filter { !refused.contains($0) }.map(\.title)
        guard let last = titles.last, titles.count > 1 else { return titles.joined() }
        return "\(titles.dropLast().joined(separator: ", ")) or \(last)"
    }
}

extension Arguments {
    /// Refuses a path of a kind that its argument does not accept. The command itself handles unknown kinds and missing
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
        try refuseFolder(takes, path, argument)
        try refusePart(takes, path)
        let kinds = PathKind.kinds(of: path)
        try refusePackagePart(takes, path, kinds)
        guard let kind = kinds.first else {
            if takes == [.package], [.file, .folder].contains(Files.kind(of: path)) {
                throw RequestError(
                    "\(path) is no package; \(command.name) takes \(PathKind.package.title) \(argument), as convert writes it"
                )
            }
            // Values, text or standard input in place of a file.
            let isNoName = path == "-" || path.contains { "=, ".contains($0) }
            if takes == [.tensors], isNoName, Files.kind(of: path) == nil {
                throw RequestError(
                    "there is no file \(quoted(path)); \(command.name) takes \(PathKind.tensors.title) \(argument), with a tensor "
                        + "for each input, and neither values nor text")
            }
            if let other = Files.kind(of: path), ![.file, .folder].contains(other) {
                throw FormatError(file: path, reason: "expected a regular file or a folder, found \(other)")
            }
            return
        }
        guard !kinds.contains(where: takes.contains) else { return }
        var remedy = ""
        if takes.contains(.package), kind == .checkpoint || kind == .gguf {
            remedy = "; accelc convert \(shellWord(path)) makes one"
        } else if takes == [.tensors], kind == .archive {
            remedy = "; of NumPy's arrays, safetensors.numpy.save_file({\"NAME\": array}, \"FILE\") makes one in Python"
        }
        if let swapped = swapped(takes, kind) {
            throw RequestError(
                "\(path) is \(kind.title), and \(swapped.path) is none: give \(swapped.path) \(argument), and \(path) for "
                    + "--\(swapped.option.name)")
        }
        throw RequestError(
            "\(path) is \(kind.title); \(command.name) takes \(PathKind.titles(of: takes)) \(argument)\(remedy)")
    }

    /// Returns the option that has what an argument takes, if it takes the kind of what the argument has.
    private func swapped(_ takes: [PathKind], _ kind: PathKind) -> (option: Option, path: String)? {
        // A recipe may also be a plan or the name of one, so that its option does not say what it takes.
        for option in command.allOptions where option.takes.contains(kind) || kind == .recipe && option.name == "recipe"
        {
            for path in all(option)
            where PathKind.kinds(of: path).contains(where: { takes.contains($0) && !option.takes.contains($0) }) {
                return (option, path)
            }
        }
        return nil
    }

    /// Refuses a folder in place of a file of tensors, with the files of tensors in it.
    private func refuseFolder(_ takes: [PathKind], _ path: String, _ argument: String) throws {
        guard takes == [.tensors], Files.kind(of: path) == .folder else { return }
        // The weights of a model are no inputs.
        let names = (try? Files.list(path)) ?? []
        let isModel = names.contains { $0 == "config.json" || $0.hasSuffix(".index.json") }
        let inside = isModel ? [] : names.filter { $0.hasSuffix(".safetensors") && !$0.hasPrefix("model") }.sorted()
        let hint = inside.first.map { ", such as \(Files.trimmingSlashes(path))/\($0)" } ?? ""
        throw RequestError(
            "\(path) is a folder; \(command.name) takes \(PathKind.titles(of: takes)) \(argument): one file with a tensor for "
                + "each input\(hint)")
    }

    /// Refuses a file of a package in place of the package.
    private func refusePackagePart(_ takes: [PathKind], _ path: String, _ kinds: [PathKind]) throws {
        let documents: [PathKind] = [.report, .recipe, .tensors]
        guard takes.contains(.package), !kinds.contains(where: { documents.contains($0) && takes.contains($0) }),
            Files.kind(of: path) == .file, let folder = Files.parentFolder(of: path),
            AcceleratorPackage.looksLikePackage(at: folder)
        else { return }
        throw RequestError("\(path) is one file of a package: give its folder, \(folder)")
    }

    /// Refuses a file of a model's folder in place of the folder.
    private func refusePart(_ takes: [PathKind], _ path: String) throws {
        let name = Files.name(of: path)
        let isPart = ["config.json", "tokenizer.json", "generation_config.json"].contains(name)
        guard takes.contains(.checkpoint), isPart || name.hasSuffix(".safetensors.index.json"),
            Files.kind(of: path) == .file
        else { return }
        let folder = Files.parentFolder(of: path) ?? "."
        throw RequestError("\(path) is one file of a model: give its folder, \(folder.isEmpty ? "." : folder)")
    }
}
