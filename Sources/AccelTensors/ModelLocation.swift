import AccelByteIO
import AccelPlatform

/// The location of a model on this machine. Nothing is ever downloaded.
enum ModelLocation {
    /// The description of accepted models in errors.
    private static let form = "a model is a folder, a .safetensors or .gguf file, or hf:OWNER/NAME"

    /// The suffixes of names that are those of files, and of no repositories.
    private static let fileSuffixes =
        [".json", ".safetensors", ".accelpkg", ".mlpackage", ".aimodel", ".zip"] + ForeignFormat.suffixes

    /// Returns the folder or file that `model` refers to.
    /// - Parameter form: the description of accepted values, for the error if there is no such file or folder.
    static func resolve(
        _ model: String, form: String = Self.form, environment: (String) -> String? = ProcessEnvironment.value
    ) throws(RequestError) -> String {
        if model.hasPrefix("hf:") {
            let parts = model.dropFirst(3).split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            let folder = try HubCache(environment: environment).snapshot(of: HubName(String(parts.first ?? "")))
            return parts.count == 2 ? try file(String(parts[1]), in: folder, of: model) : folder
        }
        if Files.kind(of: model) != nil { return model }
        if let problem = Files.brokenLink(model) { throw RequestError(problem, status: .unavailable) }
        if Files.suggestion(for: model).isEmpty, let name = try? HubName(model), let owner = name.owner,
            Files.kind(of: owner) == nil, !fileSuffixes.contains(where: name.name.hasSuffix)
        {
            do {
                return try HubCache(environment: environment).snapshot(of: name)
            } catch {
                throw RequestError(
                    "there is no file or folder \(model), and \(error.description)", status: error.exitStatus)
            }
        }
        let nearest = Files.suggestion(for: model)
        throw RequestError(
            "there is no file or folder \(model)\(nearest.isEmpty ? "; \(form)" : nearest)", status: .unavailable)
    }
}

extension ModelLocation {
    /// Returns the file of a snapshot by its path, or by the end of its name before `.gguf`; of several parts the first.
    private static func file(_ name: String, in folder: String, of model: String) throws(RequestError) -> String {
        guard isRelativeInside(name) else { throw RequestError("\"\(model)\" does not name a file of a model") }
        if Files.kind(of: "\(folder)/\(name)") == .file { return "\(folder)/\(name)" }
        let names = ((try? Files.list(folder)) ?? []).filter { $0.hasSuffix(".gguf") }
        let fitting = names.filter { file in
            // Of the parts of a model the first is named.
            let stem = file.dropLast(".gguf".count)
            let parts = stem.split(separator: "-", omittingEmptySubsequences: false)
            let isFirst = parts.count > 3 && parts[parts.count - 2] == "of" && parts[parts.count - 3] == "00001"
            return (isFirst ? parts.dropLast(3).joined(separator: "-") : String(stem)).hasSuffix(name)
        }
        guard fitting.count == 1 else {
            throw RequestError(
                "\(model): the local copy has no such file (it has: \(names.joined(separator: ", ")))",
                status: .unavailable)
        }
        return "\(folder)/\(fitting[0])"
    }
}

extension Checkpoint {
    /// Returns the default name of outputs of a model: the name of the folder, of the file without `.safetensors`, or
    /// of the repository; nil if it has none, such as `/`.
    public static func name(of model: String) -> String? {
        guard !model.hasPrefix("hf:"), Files.kind(of: model) != nil else {
            let name = (model.hasPrefix("hf:") ? model.dropFirst(3) : model[...]).prefix { $0 != ":" }
            return (try? HubName(String(name)))?.name ?? Files.name(of: model)
        }
        var name = Files.name(of: model)
        if [".", ".."].contains(name) { name = Files.realPath(of: model).map { Files.name(of: $0) } ?? "" }
        let ending = ".safetensors"
        if name.hasSuffix(ending), name != ending { name = String(name.dropLast(ending.count)) }
        return name.isEmpty || name == "/" ? nil : name
    }
}

/// `OWNER/NAME[@REV]`, or `NAME[@REV]`.
struct HubName {
    let owner: String?
    let name: String
    let revision: String

    init(_ text: String) throws(RequestError) {
        let halves = text.split(separator: "@", maxSplits: 1, omittingEmptySubsequences: false)
        let parts = (halves.first ?? "").split(separator: "/", omittingEmptySubsequences: false).map(String.init)
        let revision = halves.count == 2 ? String(halves[1]) : "main"
        guard (1...2).contains(parts.count), parts.allSatisfy(Self.isWord), isRelativeInside(revision) else {
            throw RequestError("\"\(text)\" does not name a model; expected OWNER/NAME or OWNER/NAME@REVISION")
        }
        owner = parts.count == 2 ? parts[0] : nil
        name = parts[parts.count - 1]
        self.revision = revision
    }

    private static func isWord(_ text: String) -> Bool {
        !["", ".", ".."].contains(text)
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "-"):
                    true
                default: false
                }
            }
    }
}

/// The local cache of Hugging Face's own tools:
/// `models--OWNER--NAME/{refs/REV -> commit, snapshots/COMMIT/..., blobs/...}`; a snapshot's files are links to blobs.
struct HubCache {
    let root: String

    /// HF_HUB_CACHE, or HF_HOME/hub, or the default of the Hugging Face library.
    init(environment: (String) -> String?) {
        func variable(_ name: String) -> String? { environment(name).flatMap { $0.isEmpty ? nil : $0 } }
        if let cache = variable("HF_HUB_CACHE") ?? variable("HUGGINGFACE_HUB_CACHE") {
            root = cache
        } else {
            let home = variable("HF_HOME")
            let caches = variable("XDG_CACHE_HOME") ?? "\(variable("HOME") ?? "~")/.cache"
            root = "\(home ?? "\(caches)/huggingface")/hub"
        }
    }

    func snapshot(of model: HubName) throws(RequestError) -> String {
        let folder = "\(root)/models--" + ((model.owner.map { "\($0)--" } ?? "") + model.name)
        let named = (model.owner.map { "\($0)/" } ?? "") + model.name
        guard Files.kind(of: folder) == .folder else {
            throw unavailable("\(named) is not in the local Hugging Face cache (looked for \(folder))")
        }
        var looked = ["\(folder)/snapshots/\(model.revision)"]
        if Files.kind(of: looked[0]) == .folder { return looked[0] }
        let reference = "\(folder)/refs/\(model.revision)"
        looked.append(reference)
        if let commit = commit(in: reference) {
            looked.append("\(folder)/snapshots/\(commit)")
            if Files.kind(of: looked[2]) == .folder { return looked[2] }
        }
        throw unavailable(
            "revision \(model.revision) of \(named) is not in the local Hugging Face cache (looked for "
                + "\(looked.joined(separator: ", ")))")
    }

    private func commit(in reference: String) -> String? {
        guard let bytes = try? MappedFile(reference).bytes, bytes.count <= 256 else { return nil }
        let text = bytes.withBytes { String(decoding: $0, as: UTF8.self) }
        let commit = text.split(whereSeparator: \.isWhitespace).first.map(String.init) ?? ""
        return isRelativeInside(commit) && !commit.contains("/") ? commit : nil
    }

    private func unavailable(_ sentence: String) -> RequestError {
        RequestError(
            "\(sentence); download it with `hf download`, or set HF_HUB_CACHE or HF_HOME to where it is",
            status: .unavailable)
    }
}
