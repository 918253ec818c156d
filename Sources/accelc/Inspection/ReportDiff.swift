import AccelByteIO
import AccelVerification

/// A report of `verify`, as far as two are compared.
struct ReportFile {
    /// An output or a state, and what it was compared with.
    struct Output: Hashable {
        let stage: String
        let function: String
        let name: String
        let against: String
    }

    /// The error of an output.
    struct Figures {
        let sqnr: Double
        let cosine: Double
    }

    /// A limit of sizes, memory or speed.
    struct Limit {
        let what: String
        let value: Double
        let limit: Double
        let isKept: Bool
        /// As in the report.
        let json: JSON

        /// e.g. `39.1 MB, limit 40.0 MB`
        var text: String {
            func figure(_ value: Double) -> String {
                what.contains("bytes") ? Wording.bytes(Int(value)) : Text.decimals(value, 3)
            }
            return "\(figure(value)), \(isKept ? "limit" : "beyond the limit") \(figure(limit))"
        }
    }

    let path: String
    /// The report, without the digest of a package that `verify.json` binds it to.
    let document: JSON
    let verdict: String
    let failureCount: Int
    /// The digest of the package; nil for another subject.
    let package: String?
    /// The runtime of another project that computed the outputs; nil if none did.
    let runtime: String?
    let inputs: String
    /// The bytes of all stored weights.
    let storedBytes: Int
    let bitsPerWeight: Double
    /// The bytes of all files of the package; nil if nothing limited them, for only limited sizes are in a report.
    let packageBytes: Int?
    /// What was limited, in the order of the report.
    let limits: [Limit]
    /// In the order of the report.
    private(set) var outputs: [Output]
    private(set) var figures: [Output: Figures]
    /// The SQNR of the outputs of each function together, by the function's name.
    private(set) var together: [String: Double]
    /// The storage of each weight, by its name.
    let weights: [String: StoredWeight]

    /// - Throws: `FormatError` if the file is no report.
    init(_ path: String) throws {
        self.path = path
        let content = try JSON.read(path)
        document = Self.report(in: content) ?? content
        let report = JSONField(document, file: path)
        verdict = try report["verdict"].string()
        failureCount = try report["failures"].array().count
        package = report["package"].exists ? try report["package"].string() : nil
        runtime = report["runtime"].exists ? try report["runtime"]["name"].string() : nil
        inputs = try report["inputs"]["source"].string()
        let size = report["size"]
        storedBytes = try size["bytes"].int(in: 0...Int.max)
        bitsPerWeight = try size["bitsPerWeight"].double()
        limits = try size["limits"].array().map { limit in
            Limit(
                what: try limit["what"].string(), value: try limit["value"].double(),
                limit: try limit["limit"].double(), isKept: try limit["isKept"].bool(), json: limit.value ?? .null)
        }
        packageBytes = limits.first { $0.what == "bytes of the package" }.flatMap { Int(exactly: $0.value.rounded()) }
        let rows = try report["outputs"].array().map { row in
            let output = Output(
                stage: try row["stage"].string(), function: try row["function"].string(),
                name: try row["name"].string(), against: try row["against"].string())
            let metrics = row["metrics"]
            return (output, Figures(sqnr: try metrics["sqnr"].figure(), cosine: try metrics["cosine"].figure()))
        }
        // Reports of earlier versions have none.
        let joined = report["together"].exists ? try report["together"].array() : []
        together = Dictionary(
            try joined.map { (try $0["function"].string(), try $0["sqnr"].figure()) }
        ) { first, _ in first }
        weights = Dictionary(
            try report["coverage"].array().map { weight in
                let stored = StoredWeight(
                    scheme: try weight["codec"].string(), byteCount: try weight["bytes"].int(in: 0...Int.max))
                return (try weight["name"].string(), stored)
            }
        ) { first, _ in first }
        outputs = rows.map(\.0)
        figures = Dictionary(rows) { first, _ in first }
    }

    /// The names of the functions whose outputs were compared, in the order of the report.
    fileprivate var functions: [String] {
        outputs.map(\.function).distinct
    }

    /// Renames functions.
    fileprivate init(_ other: ReportFile, renaming names: [String: String]) {
        self = other
        func renamed(_ output: Output) -> Output {
            Output(
                stage: output.stage, function: names[output.function] ?? output.function, name: output.name,
                against: output.against)
        }
        outputs = other.outputs.map(renamed)
        figures = Dictionary(other.figures.map { (renamed($0), $1) }) { first, _ in first }
        together = Dictionary(other.together.map { (names[$0] ?? $0, $1) }) { first, _ in first }
    }

    /// Returns the report that a document is, or that it has as `verify.json` of a package; nil if there is none.
    static func report(in document: JSON) -> JSON? {
        [document, document["report"]].compactMap(\.self).first { $0["accelc"] == .string("parity report") }
    }

    /// Returns nil if the path is not that of a report.
    static func open(_ path: String) throws -> ReportFile? {
        PathKind(of: path) == .report ? try ReportFile(path) : nil
    }

    /// The verdict with the number of failures.
    var verdictText: String {
        failureCount == 0 ? verdict : "\(verdict) (\(Wording.count(failureCount, "failure")))"
    }

    var json: JSON {
        [
            "path": .string(path), "verdict": .string(verdict), "failures": .integer(Int64(failureCount)),
            "package": package.map { .string($0) } ?? .null, "runtime": runtime.map { .string($0) } ?? .null,
            "inputs": .string(inputs), "bytes": .integer(Int64(storedBytes)),
            "bits_per_weight": .figure(bitsPerWeight),
            "package_bytes": packageBytes.map { .integer(Int64($0)) } ?? .null,
            "limits": .array(limits.map(\.json)),
        ]
    }
}

extension JSONField {
    /// Returns a figure of a report, which has texts for numbers that JSON lacks.
    fileprivate func figure() throws -> Double {
        switch value {
        case .string("infinity")?: return .infinity
        case .string("-infinity")?: return -.infinity
        case .string("nan")?: return .nan
        default: return try double()
        }
    }
}

extension JSON {
    /// The rows of a report without what follows from a budget.
    fileprivate var withoutLimits: JSON {
        guard case .array(let rows) = self else { return self }
        return .array(
            rows.map { row in
                guard case .object(let members) = row else { return row }
                return .object(members.filter { !["tolerance", "failure"].contains($0.key) })
            })
    }
}

extension JSON {
    /// A report without the speeds in its limits.
    fileprivate var withoutMeasured: JSON {
        changing("size") { size in
            size.changing("limits") { limits in
                guard case .array(let rows) = limits else { return limits }
                return .array(
                    rows.map { row in
                        guard row["runs"] != nil, case .object(let members) = row else { return row }
                        return .object(members.filter { !["value", "runs", "least", "most"].contains($0.key) })
                    })
            }
        }
    }

    /// Returns an object with one of its members changed.
    private func changing(_ key: String, _ change: (JSON) -> JSON) -> JSON {
        guard case .object(let members) = self else { return self }
        return .object(members.map { $0.key == key ? Member(key, change($0.value)) : $0 })
    }
}

/// Two reports of `verify` side by side.
struct ReportDiff {
    let left: ReportFile
    /// Its functions have the names of the left ones that they are paired with.
    let right: ReportFile
    /// The functions that have other names in both reports: the right name, by the left one.
    private let pairs: [String: String]

    init(left: ReportFile, right: ReportFile) {
        pairs = Self.pairs(left.functions, right.functions)
        self.left = left
        self.right = ReportFile(
            right, renaming: Dictionary(pairs.map { ($1, $0) }, uniquingKeysWith: { first, _ in first }))
    }

    /// Pairs functions by the numbers of their shapes, as `model[batch=1,sequence=32]` of a package is `model_batch_1_sequence_32` or
    /// `main [1,32]` of a Core ML file; where each report has one function only, these.
    private static func pairs(_ left: [String], _ right: [String]) -> [String: String] {
        guard Set(left).isDisjoint(with: right) else { return [:] }
        if let only = left.first, let other = right.first, left.count == 1, right.count == 1 { return [only: other] }
        func numbers(_ name: String) -> [Substring] { name.split { !$0.isNumber } }
        return left.reduce(into: [:]) { pairs, name in
            let (own, alike) = (
                left.filter { numbers($0) == numbers(name) }, right.filter { numbers($0) == numbers(name) }
            )
            if own.count == 1, alike.count == 1 { pairs[name] = alike[0] }
        }
    }

    /// The functions of other names, in the order of the left report.
    private var renamed: [(left: String, right: String)] {
        left.functions.compactMap { name in pairs[name].map { (name, $0) } }
    }

    /// Whether the reports are the same, also in what is not listed. No two runs measure the same speed.
    var isEmpty: Bool { left.document.withoutMeasured == right.document.withoutMeasured }

    /// An output of both reports, or of one.
    private struct Row {
        let output: ReportFile.Output
        let left: ReportFile.Figures?
        let right: ReportFile.Figures?

        /// Returns the right figure less the left one; nil if one is missing.
        func change(of figure: (ReportFile.Figures) -> Double) -> Double? {
            guard let left, let right else { return nil }
            let (before, after) = (figure(left), figure(right))
            return before == after ? 0 : after - before
        }

        /// The distance of both SQNRs.
        var distance: Double {
            let value = change { $0.sqnr } ?? 0
            return value.isNaN ? .infinity : abs(value)
        }

        var json: JSON {
            func figures(_ sqnr: Double?, _ cosine: Double?) -> JSON {
                guard let sqnr, let cosine else { return .null }
                return ["sqnr": .figure(sqnr), "cosine": .figure(cosine)]
            }
            return [
                "stage": .string(output.stage), "function": .string(output.function), "name": .string(output.name),
                "against": .string(output.against), "left": figures(left?.sqnr, left?.cosine),
                "right": figures(right?.sqnr, right?.cosine),
                "difference": figures(change { $0.sqnr }, change { $0.cosine }),
            ]
        }
    }

    /// The outputs in the order of the left report, then those that only the right one has.
    private var rows: [Row] {
        let outputs = left.outputs + right.outputs.filter { left.figures[$0] == nil }
        return outputs.map { Row(output: $0, left: left.figures[$0], right: right.figures[$0]) }
    }

    /// Members of reports that the text shows.
    private static let shown: Set = [
        "verdict", "headline", "exitStatus", "package", "inputs", "runtime", "size", "outputs", "together",
    ]

    /// The names of other members that differ, such as `weights`.
    private var others: [String] {
        guard case .object(let members) = left.document else { return [] }
        return members.map(\.key).compactMap { name in
            guard !Self.shown.contains(name), left.document[name] != right.document[name] else { return nil }
            let isOfLimits = left.document[name]?.withoutLimits == right.document[name]?.withoutLimits
            return isOfLimits ? "limits of \(name)" : name
        }
    }

    var json: JSON {
        [
            "same": .bool(isEmpty), "left": left.json, "right": right.json,
            "functions": .array(renamed.map { ["left": .string($0.left), "right": .string($0.right)] }),
            "outputs": .array(rows.map(\.json)), "weights": .array(changedWeights.map(\.json)),
            "others": .array(others.map { .string($0) }),
        ]
    }

    /// The verdicts, the sizes and the errors of the outputs.
    /// - Parameter folds: outputs whose names differ in numbers only share a line, which has the figures of one.
    func text(folds: Bool) -> String {
        if left.document == right.document { return "the reports are the same" }
        if isEmpty { return "the reports are the same but for measured speeds\n\n\(summary)" }
        var parts = [summary]
        if !renamed.isEmpty {
            parts.append(renamed.map { "\($0.right) of B is compared with \($0.left) of A" }.joined(separator: "\n"))
        }
        if !rows.isEmpty { parts.append(outputTable(folds: folds)) }
        let weights = changedWeights
        if !weights.isEmpty { parts.append(Self.table(of: weights, folds: folds)) }
        if !others.isEmpty { parts.append("also different: \(others.joined(separator: ", "))") }
        return parts.joined(separator: "\n\n")
    }

    private var summary: String {
        func row(_ title: String, change: String = "", _ text: (ReportFile) -> String?) -> [String]? {
            let sides = [text(left), text(right)]
            guard sides.contains(where: { $0 != nil }) else { return nil }
            return [title] + sides.map { $0 ?? "-" } + [change]
        }
        let bits = right.bitsPerWeight - left.bitsPerWeight
        let isOther = left.inputs != right.inputs
        let limited = (left.limits + right.limits).reduce(into: [String]()) { names, limit in
            if !names.contains(limit.what) { names.append(limit.what) }
        }
        let limits = limited.map { what in row(what) { $0.limits.first { $0.what == what }?.text } }
        let rows: [[String]?] =
            [
                row("verdict") { $0.verdictText },
                row("package") { $0.package.map { String($0.prefix(16)) } },
                row("runtime") { $0.runtime },
                row("inputs") { isOther ? $0.inputs : nil },
                row("stored weights", change: percent(left.storedBytes, right.storedBytes)) {
                    Wording.bytes($0.storedBytes)
                },
                row("bits per weight", change: signed(bits, digits: 2)) { Text.decimals($0.bitsPerWeight, 2) },
                row("package size", change: percent(left.packageBytes, right.packageBytes)) {
                    $0.packageBytes.map { Wording.bytes($0) }
                },
            ] + limits
            + Set(left.together.keys).union(right.together.keys).sorted().map { function in
                row(
                    "\(function): outputs together",
                    change: change(of: left.together[function], right.together[function])
                ) { report in report.together[function].map { "\(Figure.decibels($0)) dB" } }
            }
        return Text.table(
            ["report", "A: \(left.path)", "B: \(right.path)", "B - A"], rows.compactMap(\.self),
            [.left, .left, .left, .right])
    }

    private func outputTable(folds: Bool) -> String {
        // The graph stage compares with the stored weights: its figures are those of rounding, not of compression.
        let compared = rows.filter { $0.output.stage == Stage.outputs.code }
        let shown = compared.isEmpty ? rows : compared
        let isAlone = Set(shown.map(\.output.function)).count == 1
        func decibels(_ side: ReportFile.Figures?) -> String { side.map { Figure.decibels($0.sqnr) } ?? "-" }
        func cosine(_ side: ReportFile.Figures?) -> String { side.map { Figure.cosine($0.cosine) } ?? "-" }
        func change(_ value: Double?, digits: Int) -> String { value.map { signed($0, digits: digits) } ?? "-" }
        let cells = lines(of: shown, folds: folds).map { name, row -> [String] in
            let title = isAlone ? name : "\(row.output.function) \(name)"
            let (sqnr, cosines) = (row.change { $0.sqnr }, row.change { $0.cosine })
            return [
                title, row.output.against, decibels(row.left), decibels(row.right), change(sqnr, digits: 1),
                cosine(row.left), cosine(row.right), change(cosines, digits: 6),
            ]
        }
        return Text.table(
            ["output", "against", "SQNR dB of A", "of B", "B - A", "cosine of A", "of B", "B - A"], cells,
            [.left, .left, .right, .right, .right, .right, .right, .right])
    }

    /// Returns a name and a row for each line. That of several outputs has the one whose SQNRs are furthest apart.
    private func lines(of rows: [Row], folds: Bool) -> [(name: String, row: Row)] {
        guard folds else { return rows.map { ($0.output.name, $0) } }
        let groups = FoldedNames.all(rows, name: { $0.output.name }) { row in
            [row.output.stage, row.output.function, row.output.against, "\(row.left == nil) \(row.right == nil)"]
        }
        return groups.compactMap { group -> (name: String, row: Row)? in
            guard let most = group.elements.max(by: { $0.distance < $1.distance }) else { return nil }
            let isAlone = group.elements.count == 1
            return (isAlone ? group.name : "\(group.name), most changed \(most.output.name)", most)
        }
    }

    private func change(of before: Double?, _ after: Double?) -> String {
        guard let before, let after, before.isFinite, after.isFinite else { return "" }
        return signed(after - before, digits: 1)
    }

    private func percent(_ before: Int?, _ after: Int?) -> String {
        guard let before, let after, before > 0 else { return "" }
        return signed(100 * (Double(after) / Double(before) - 1), digits: 1) + "%"
    }

    private func signed(_ value: Double, digits: Int) -> String {
        (value > 0 ? "+" : "") + Text.decimals(value, digits)
    }
}
