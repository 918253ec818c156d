import ByteIO
import Foundation
import ModelFamilies
import Packages
import Tensors

enum CacheCommand: Command {
    enum Action: String, CaseIterable {
        case path, list, explain, gc, fsck, clear
    }

    static let name = "cache"
    static let summary = "show and tidy the cache of earlier conversions"
    static let action = Positional(
        "ACTION", "path, list, explain, gc, fsck, or clear", kind: .words(Action.allCases.map(\.rawValue)))
    static let model = Positional("MODEL", "with explain: the model, as convert takes it", isRequired: false)
    static let maximumSize = Option(
        "max-size", .text("SIZE"), "with gc: how much may stay, e.g. 500MB", default: "10GB")
    static let repair = Option("repair", .flag, "with fsck: put what is damaged aside, so that it is made again")
    static let positionals = [action, model]
    static let options =
        [CacheChoice.folder, maximumSize, repair] + ConversionRequest.options.filter(\.affectsOutput)
        + [CommonOptions.json]
    static let notes = """
          path     print where the cache is
          list     print what is in it, the most recently used first
          explain  with MODEL and options as of convert: why that is a hit or a miss, field by field
          gc       remove what has not been used for longest, until the rest fits
          fsck     read every byte against its digest; exit status 1 when something is damaged
          clear    remove everything
        """

    static func run(_ arguments: Arguments, _ console: Console) throws -> ExitStatus {
        guard let cache = CacheChoice.cache(arguments, console) else {
            throw RequestError("there is no place for a cache; set ACCELC_CACHE or give --cache", status: .unavailable)
        }
        guard let action = Action(rawValue: try arguments.required(action)) else { return .usage }
        if action != .explain, let model = arguments[model] {
            throw arguments.usage("\(action.rawValue) does not expect \"\(model)\"")
        }
        let result = try perform(action, on: cache, arguments, console)
        if arguments.has(CommonOptions.json) {
            console.print(result.json)
        } else if !result.text.isEmpty {
            console.print(result.text)
        }
        return result.status
    }

    private typealias Result = (text: String, json: JSON, status: ExitStatus)

    private static func perform(
        _ action: Action, on cache: Cache, _ arguments: Arguments, _ console: Console
    ) throws -> Result {
        switch action {
        case .path: return (cache.root, ["path": .string(cache.root)], .success)
        case .list: return list(cache)
        case .explain: return try explain(cache, arguments, console)
        case .gc: return try collect(cache, try bytes(arguments))
        case .fsck: return try check(cache, repairing: arguments.has(repair), console)
        case .clear:
            try cache.clear()
            return ("", ["cleared": .string(cache.root)], .success)
        }
    }

    private static func list(_ cache: Cache) -> Result {
        let entries = cache.entries
        let rows = entries.map { entry in
            let key = entry.record.key
            let lastUse = Date(timeIntervalSince1970: Double(entry.lastUse) / 1e9).ISO8601Format()
            return [
                String(key.digest.description.prefix(12)), key.kind.rawValue, Text.bytes(entry.byteCount), lastUse,
                entry.record.model,
            ]
        }
        let text = Text.table(
            ["key", "kind", "size", "last used", "model"], rows, [.left, .left, .right, .left, .left])
        let json = JSON.array(
            entries.map { entry in
                [
                    "key": .string(entry.record.key.digest.description),
                    "kind": .string(entry.record.key.kind.rawValue),
                    "bytes": .integer(Int64(entry.byteCount)), "last_used": .integer(entry.lastUse / 1_000_000_000),
                    "model": .string(entry.record.model),
                    "fields": .object(entry.record.key.fields.map { JSON.Member($0.name, .string($0.value)) }),
                ]
            })
        return (entries.isEmpty ? "nothing is in the cache at \(cache.root)" : text, json, .success)
    }

    private static func explain(_ cache: Cache, _ arguments: Arguments, _ console: Console) throws -> Result {
        let request = try ConversionRequest(arguments)
        let checkpoint = try Checkpoint(model: request.model, configuration: request.configuration)
        let model = try Families.matching(checkpoint.configuration).model(for: checkpoint, parts: request.parts)
        let digests = try ModelDigests(checkpoint, cache: cache, threads: console.threads)
        let explanation = cache.explain(try CacheKey(request, digests, try request.freezing(model.programs)))
        let differences: [JSON] = explanation.differences.map {
            ["field": .string($0.field), "earlier": .string($0.earlier), "now": .string($0.now)]
        }
        let json: JSON = [
            "key": .string(explanation.key.digest.description), "hit": .bool(explanation.miss == nil),
            "reason": explanation.miss.map { .string("\($0.reason)") } ?? .null,
            "nearest": explanation.nearest.map { .string($0.key.digest.description) } ?? .null,
            "differences": .array(differences),
        ]
        return (String(explanation.text.dropLast()), json, .success)
    }

    private static func collect(_ cache: Cache, _ maximumBytes: Int) throws -> Result {
        let report = try cache.collect(maximumBytes: maximumBytes)
        let text = """
            removed \(Text.count(report.removedRecords, "result")), \(Text.bytes(report.freedBytes)); \
            kept \(Text.count(report.keptRecords, "result")), \(Text.bytes(report.keptBytes))
            """
        let json: JSON = [
            "removed_records": .integer(Int64(report.removedRecords)),
            "removed_blobs": .integer(Int64(report.removedBlobs)),
            "freed_bytes": .integer(Int64(report.freedBytes)), "kept_records": .integer(Int64(report.keptRecords)),
            "kept_bytes": .integer(Int64(report.keptBytes)), "young_bytes": .integer(Int64(report.youngBytes)),
        ]
        return (text, json, .success)
    }

    private static func check(_ cache: Cache, repairing: Bool, _ console: Console) throws -> Result {
        let progress = console.progress("checking")
        let damage = try cache.check(repairing: repairing) { progress.step($0) }
        let lines = damage.map { "\($0.path): \($0.reason)" }
        let verdict =
            damage.isEmpty ? "the cache is sound" : repairing ? "put aside; it is made again when it is needed" : ""
        let json = JSON.array(damage.map { ["path": .string($0.path), "reason": .string($0.reason)] })
        return (
            (lines + [verdict]).filter { !$0.isEmpty }.joined(separator: "\n"), json,
            damage.isEmpty ? .success : .exceeded
        )
    }

    private static func bytes(_ arguments: Arguments) throws -> Int {
        let text = try arguments.required(maximumSize)
        guard let bytes = Text.parseBytes(text) else {
            throw arguments.usage("takes a size such as 500MB or 10GB for --max-size, found \"\(text)\"")
        }
        return bytes
    }
}
