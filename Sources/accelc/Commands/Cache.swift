import AccelByteIO
import AccelConversion
import AccelFormats
import AccelPackages

enum CacheCommand: Command {
    enum Action: String, CaseIterable {
        case path, list, explain, get, prewarm, gc, fsck, clear
    }

    static let name = "cache"
    static let summary = "show, check and clean the cache of conversions"
    static let action = Positional(
        "ACTION", "path, list, explain, get, prewarm, gc, fsck, or clear",
        kind: .words(Action.allCases.map(\.rawValue)))
    static let model = Positional(
        "MODEL", "explain, get: a model as convert takes it; prewarm: a list of conversions",
        takes: PathKind.models, isRequired: false)
    static let other = Positional("OTHER", "explain: a second key", kind: .text, isRequired: false)
    static let maximumSize = Option(
        "max-size", .text("SIZE"), in: .cache,
        "the size to shrink the cache to, such as 500MB. 0 keeps only entries in use",
        default: "10GB", isCommon: true,
        needs: [.word("gc")])
    static let minimumAge = Option(
        "min-age", .text("AGE"), in: .cache,
        "keep files younger than AGE, such as 30s, 15m or 2h. A conversion that runs may still need them; with 0s it may have to "
            + "make them again",
        default: "\(Cache.graceSeconds / 60)m", isCommon: true, needs: [.word("gc")])
    static let minimumFree = Option(
        "min-free", .text("SIZE"), in: .cache, "the free space on the disk that is required afterwards", default: "1GB",
        isCommon: true,
        needs: [.word("gc")])
    static let repair = Option(
        "repair", .flag, in: .cache, "quarantine damaged entries, so that they are made again", isCommon: true,
        needs: [.word("fsck")])
    static let positionals = [action, model, other]
    static let options =
        [CacheChoice.folder.needing([], isCommon: true), CacheChoice.trustShared]
        + [CacheChoice.remote, CacheChoice.remoteReadOnly].map { $0.needing(ofServers) }
        + [maximumSize, minimumFree, minimumAge, repair] + conversion.map { $0.needing(ofModels) } + [
            CommonOptions.json
        ]
    private static let ofServers: [Option.Need] = [.word("get"), .word("prewarm")]
    private static let ofModels: [Option.Need] = [.word("explain"), .word("get")]
    /// The options that determine which package a model is converted to.
    private static let conversion = (ConversionArguments.all.filter { $0.choice != nil } + [ConversionArguments.strict])
        .map(\.option)
    static let examples = ["accelc cache list", "accelc cache gc --max-size 5GB"]
    static let subjects = ["the options of explain and get"]
    static let notes = """
          path     print the folder of the cache
          list     list the entries, the most recently used first
          explain  print why a conversion is a hit or a miss
          get      print the path of a converted package in the cache
          prewarm  convert all models of a list
          gc       evict the least recently used entries
          fsck     compare every byte with its digest
          clear    remove all entries
        """
    static let details = """
        list prints one line for the tensors of a model, and one line for each tensor with --verbose.

        explain takes MODEL and the options of convert, and prints each field of the cache key. With two keys
        that list prints (or their first digits) it prints the first field that differs.

        get takes MODEL and the options of convert. A runtime can open the package in the cache; gc does not
        evict it for an hour. The exit status is 3 on a miss.

        prewarm takes a file with MODEL and options in each line. It converts each model that is not in the
        cache. A line that fails is an error, and the other lines are still converted.

        gc keeps entries in use, and entries younger than --min-age, so that the cache may stay larger than
        --max-size. The exit status does not depend on that; "within_limit" of --json reports it.

        fsck ends with exit status 1 if an entry is damaged, repaired or not.
        """

    static func run(_ arguments: Arguments, _ console: Console) throws -> ExitStatus {
        guard let cache = try CacheChoice.cache(arguments, console) else {
            throw RequestError("there is no place for a cache; set ACCELC_CACHE or give --cache", status: .unavailable)
        }
        guard let action = Action(rawValue: try arguments.required(action)) else { return .usage }
        let expected = [.explain: 2, .get: 1, .prewarm: 1][action] ?? 0
        let words = [arguments[model], arguments[other]].compactMap { $0 }
        if words.count > expected {
            throw arguments.usage("\(action.rawValue) does not expect \"\(words[expected])\"")
        }
        let result = try perform(action, on: cache, arguments, console)
        if arguments.has(CommonOptions.json) {
            console.print(result.json)
        } else if [.path, .get].contains(action) {
            console.print(verbatim: result.text)
        } else if !result.text.isEmpty {
            console.summary(result.text)
        }
        return result.status
    }

    private typealias Result = (text: String, json: JSON, status: ExitStatus)

    private static func perform(
        _ action: Action, on cache: Cache, _ arguments: Arguments, _ console: Console
    ) throws -> Result {
        switch action {
        case .path: return (cache.root, ["path": .string(cache.root)], .success)
        case .list: return try list(cache, folds: !console.isVerbose)
        case .explain:
            if let other = arguments[other] {
                try arguments.reject(conversion, "these are two keys", for: "a MODEL")
                return try compare(cache, try arguments.required(model), other)
            }
            return try explain(cache, arguments, console)
        case .get: return try get(cache, arguments, console)
        case .prewarm: return try prewarm(cache, ConversionList(try arguments.required(model)), console)
        case .gc:
            return try collect(cache, arguments)
        case .fsck: return try check(cache, repairing: arguments.has(repair), console)
        case .clear:
            return try clear(cache)
        }
    }

    private static func clear(_ cache: Cache) throws -> Result {
        let damaged = cache.quarantinedBytes
        let (results, bytes) = try cache.clear()
        let foreign = cache.foreign
        let removed =
            results == 0 && bytes == 0 && damaged == 0
            ? "nothing was in the cache at \(cache.root)"
            : "removed \(Wording.count(results, "result")), \(Wording.bytes(bytes))"
                + (damaged == 0 ? "" : ", and \(Wording.bytes(damaged)) of damaged files in quarantine")
        let lines = [removed] + foreign.map { "\($0): left alone, accelc has not made it" }
        let json: JSON = [
            "cleared": .string(cache.root), "removed_records": .int(results),
            "freed_bytes": .int(bytes), "quarantined_bytes": .int(damaged),
            "foreign": .texts(foreign),
        ]
        return (lines.joined(separator: "\n"), json, .success)
    }

    /// - Parameter folds: the tensors of a model share a line, and so do its statistics.
    private static func list(_ cache: Cache, folds: Bool) throws -> Result {
        try cache.requireUsable()
        let entries = cache.entries
        let groups = folds ? CacheListing.folded(entries) : entries.map { [$0] }
        let text =
            Text.table(
                ["key", "kind", .number("size"), "last used", "model"], groups.compactMap(CacheListing.row)) + "\n"
            + CacheListing.total(groups)
            + (cache.quarantinedBytes > 0 ? "\n" + CleanUpSummary.quarantine(cache.quarantinedBytes) : "")
        let json = JSON.array(
            entries.map { entry in
                [
                    "key": .string(entry.record.key.digest.description),
                    "kind": .string(entry.record.key.kind.rawValue),
                    "bytes": .int(entry.byteCount), "last_used": .integer(entry.lastUse / 1_000_000_000),
                    "model": .string(entry.record.model),
                    "fields": .object(entry.record.key.fields.map { JSON.Member($0.name, .string($0.value)) }),
                ]
            })
        return (entries.isEmpty ? "nothing is in the cache at \(cache.root)" : text, json, .success)
    }

    private static func explain(_ cache: Cache, _ arguments: Arguments, _ console: Console) throws -> Result {
        let key = try ConversionArguments.conversion(arguments).cacheKey(in: cache, threads: console.threads)
        let explanation = cache.explain(key)
        let json: JSON = [
            "key": .string(explanation.key.digest.description), "hit": .bool(explanation.miss == nil),
            "reason": explanation.miss.map { .string("\($0.reason)") } ?? .null,
            "nearest": explanation.nearest.map { .string($0.key.digest.description) } ?? .null,
            "differences": .array(explanation.differences.map(\.json)),
        ]
        return (String(explanation.text.dropLast()), json, .success)
    }

    private static func compare(_ cache: Cache, _ first: String, _ second: String) throws -> Result {
        let keys = try [first, second].map { prefix in
            guard let entry = cache.entry(prefix) else {
                throw RequestError(
                    "no key of the cache begins with \"\(prefix)\", or more than one does; \"accelc cache list\" prints them",
                    status: .unavailable)
            }
            return entry.record.key
        }
        guard let difference = keys[0].differences(from: keys[1]).first else {
            return ("both are \(keys[0].digest)", ["differences": []], .success)
        }
        return (difference.description, ["differences": [difference.json]], .success)
    }

    private static func get(_ cache: Cache, _ arguments: Arguments, _ console: Console) throws -> Result {
        let key = try ConversionArguments.conversion(arguments).cacheKey(in: cache, threads: console.threads)
        switch try cache.openLasting(key.digest) {
        case .success(let found):
            let path = Files.absolutePath(of: found.path)
            return (
                path,
                [
                    "path": .string(path), "key": .string(key.digest.description),
                    "digest": .string(found.package.digest.description),
                    "cache": .string((cache.isFromServer(key) ? CacheOutcome.serverHit : .hit).rawValue),
                ], .success
            )
        case .failure(let miss):
            throw RequestError(
                "the cache does not have this package: \(miss.reason)", status: .unavailable,
                code: miss.reason.diagnostic.code)
        }
    }

    private static func prewarm(_ cache: Cache, _ list: ConversionList, _ console: Console) throws -> Result {
        var lines: [String] = []
        var documents: [JSON] = []
        var status = ExitStatus.success
        for line in list.lines {
            do {
                let arguments = try Arguments([Action.get.rawValue] + line.words, for: Self.self)
                try arguments.reject(
                    allOptions.filter { option in !conversion.contains { $0.name == option.name } },
                    "this is a line of a list", for: "the whole command")
                let model = try ConversionArguments.conversion(arguments)
                let outcome = try model.convert(
                    to: .cache, ConversionSettings(cache: cache, threads: console.threads),
                    emit: ConversionConsole(console).show
                ).cache
                let key = try model.cacheKey(in: cache, threads: console.threads)
                if let miss = cache.package(for: key).failure {
                    throw RequestError(
                        "the package could not be kept: \(miss.reason)", status: .unavailable,
                        code: miss.reason.diagnostic.code)
                }
                cache.noteUse(of: key)
                cache.share(key)
                lines.append(
                    "\(key.digest.description.prefix(12)) \(outcome.rawValue) \(line.words.joined(separator: " "))")
                documents.append([
                    "line": .int(line.number), "key": .string(key.digest.description),
                    "cache": .string(outcome.rawValue),
                ])
            } catch let error as any ReportedError where error.exitStatus != .interrupted {
                // The other lines are made all the same.
                for single in error.singles {
                    console.error("\(list.path), line \(line.number): \(Remedies.sentence(single.diagnostic))")
                }
                documents.append(["line": .int(line.number), "error": error.json])
                if status == .success { status = error.exitStatus }
            }
        }
        return (lines.joined(separator: "\n"), .array(documents), status)
    }

    private static func collect(_ cache: Cache, _ arguments: Arguments) throws -> Result {
        let text = try arguments.required(minimumAge)
        guard let age = Text.parseAge(text) else {
            throw arguments.usage("takes an age such as 0s, 15m or 2h for --\(minimumAge.name), found \"\(text)\"")
        }
        let limit = try bytes(maximumSize, arguments)
        let free = try bytes(minimumFree, arguments)
        let report = try cache.collect(maximumBytes: limit, freeBytes: free, graceSeconds: age)
        let summary = CleanUpSummary(
            report: report, limit: limit, free: (free, Files.freeBytes(at: cache.root)),
            quarantined: cache.quarantinedBytes, age: text)
        return (summary.text, summary.json, .success)
    }

    private static func check(_ cache: Cache, repairing: Bool, _ console: Console) throws -> Result {
        let progress = console.progress("checking")
        let damage = try cache.check(
            repairing: repairing,
            exports: { format in
                guard let exporter = Exporters.all.first(where: { $0.name == format }) else { return nil }
                return { try exporter.provenance(ofExport: $0) }
            }, progress: { progress.step($0) })
        let damaged = damage.map { "\($0.path): \($0.reason)" }
        // A log of errors only has to name them.
        if console.isQuiet { damaged.forEach(console.error) }
        let foreign = cache.foreign
        let remark = "left alone, accelc has not made it"
        let lines = damaged + foreign.map { "\($0): \(remark)" }
        let verdict =
            damage.isEmpty ? "the cache is sound" : repairing ? "quarantined; it is made again when it is needed" : ""
        let found: [JSON] = damage.map {
            ["path": .string($0.path), "reason": .string($0.reason), "repaired": .bool(repairing)]
        }
        let others: [JSON] = foreign.map {
            ["path": .string($0), "reason": .string(remark), "foreign": .bool(true)]
        }
        let json = JSON.array(found + others)
        return (
            (lines + [verdict]).filter { !$0.isEmpty }.joined(separator: "\n"), json,
            damage.isEmpty ? .success : .exceeded
        )
    }

    private static func bytes(_ option: Option, _ arguments: Arguments) throws -> Int {
        let text = try arguments.required(option)
        guard let bytes = Text.parseBytes(text) else {
            throw RequestError("--\(option.name) \(text): \(Text.sizeForm)")
        }
        return bytes
    }
}

extension CacheExplanation.Difference {
    fileprivate var json: JSON { ["field": .string(field), "earlier": .string(earlier), "now": .string(now)] }
}
