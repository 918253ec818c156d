import AccelByteIO
import AccelVerification

/// Two reports of `verify` side by side.
struct ReportDiff {
    /// A report with its path.
    struct Side {
        let path: String
        var report: WrittenReport

        /// Returns nil if the path is not that of a report.
        static func open(_ path: String) throws -> Side? {
            PathKind(of: path) == .report ? Side(path: path, report: try WrittenReport(path)) : nil
        }

        /// The names of the functions whose outputs were compared, in the order of the report.
        fileprivate var functions: [String] { report.outputs.map(\.output.function).distinct }

        fileprivate var json: JSON {
            [
                "path": .string(path), "verdict": .string(report.verdict),
                "failures": .int(report.failureCount),
                "package": .text(report.package),
                "runtime": .text(report.runtime),
                "inputs": .string(report.inputs), "bytes": .int(report.storedBytes),
                "bits_per_weight": .figure(report.bitsPerWeight),
                "package_bytes": .int(report.packageBytes),
                "limits": .array(report.limits.map(\.json)),
            ]
        }
    }

    /// An output of both reports, or of one.
    private struct Row {
        let output: WrittenReport.Output
        let left: WrittenReport.Figures?
        let right: WrittenReport.Figures?

        /// Returns the right figure less the left one; nil if one is missing.
        func change(_ figure: (WrittenReport.Figures) -> Double) -> Double? {
            guard let left, let right else { return nil }
            return figure(left) == figure(right) ? 0 : figure(right) - figure(left)
        }

        /// The distance of both SQNRs.
        var distance: Double {
            let value = change(\.sqnr) ?? 0
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
                "difference": figures(change(\.sqnr), change(\.cosine)),
            ]
        }
    }

    private typealias ChangedWeight = (name: String, left: WrittenReport.Weight?, right: WrittenReport.Weight?)

    private let left: Side
    /// Its functions have the names of the left ones that they are paired with.
    private let right: Side
    /// The functions of other names in both reports, in the order of the left one.
    private let renamed: [(left: String, right: String)]
    /// The outputs in the order of the left report, then those that only the right one has.
    private let rows: [Row]
    /// The weights that the reports store in different ways, or that one of them lacks, in the order of their names by numbers.
    private let weights: [ChangedWeight]

    init(left: Side, right: Side) {
        let pairs = Self.pairs(left.functions, right.functions)
        let names = Dictionary(pairs.map { ($1, $0) }) { first, _ in first }
        var right = right
        for index in right.report.outputs.indices {
            let function = right.report.outputs[index].output.function
            right.report.outputs[index].output.function = names[function] ?? function
        }
        right.report.together = Dictionary(right.report.together.map { (names[$0] ?? $0, $1) }) { first, _ in first }
        (self.left, self.right, renamed) = (left, right, pairs)
        let found = [left, right].map { side in
            Dictionary(side.report.outputs.map { ($0.output, $0.figures) }) { first, _ in first }
        }
        rows = (left.report.outputs + right.report.outputs.filter { found[0][$0.output] == nil }).map {
            Row(output: $0.output, left: found[0][$0.output], right: found[1][$0.output])
        }
        let (before, after) = (left.report.weights, right.report.weights)
        weights = Set(before.keys).union(after.keys).sortedByNumbers().filter { before[$0] != after[$0] }
            .map { ($0, before[$0], after[$0]) }
    }

    /// Pairs functions by the numbers of their shapes, as `model[batch=1,sequence=32]` of a package is `model_batch_1_sequence_32` or
    /// `main [1,32]` of a Core ML file; where each report has one function only, these.
    private static func pairs(_ left: [String], _ right: [String]) -> [(left: String, right: String)] {
        guard Set(left).isDisjoint(with: right) else { return [] }
        if left.count == 1, right.count == 1 { return [(left[0], right[0])] }
        func numbers(_ name: String) -> [Substring] { name.split { !$0.isNumber } }
        return left.compactMap { name in
            let alike = right.filter { numbers($0) == numbers(name) }
            let isAlone = left.count { numbers($0) == numbers(name) } == 1
            return isAlone && alike.count == 1 ? (name, alike[0]) : nil
        }
    }

    /// Whether the reports are the same, also in what is not listed. No two runs measure the same speed.
    var isEmpty: Bool { left.report.withoutSpeeds == right.report.withoutSpeeds }

    /// Members of reports that the text shows.
    private static let shown: Set = [
        "verdict", "headline", "exitStatus", "package", "inputs", "runtime", "size", "outputs", "together",
    ]

    /// The names of other members that differ, such as `weights`.
    private var others: [String] {
        guard case .object(let members) = left.report.document else { return [] }
        return members.map(\.key).compactMap { name in
            guard !Self.shown.contains(name), left.report.document[name] != right.report.document[name] else {
                return nil
            }
            return left.report.withoutLimits(name) == right.report.withoutLimits(name) ? "limits of \(name)" : name
        }
    }

    var json: JSON {
        func stored(_ weight: WrittenReport.Weight?) -> JSON {
            weight.map { ["compress": .string($0.codec), "bytes": .int($0.byteCount)] } ?? .null
        }
        return [
            "same": .bool(isEmpty), "left": left.json, "right": right.json,
            "functions": .array(renamed.map { ["left": .string($0.left), "right": .string($0.right)] }),
            "outputs": .array(rows.map(\.json)),
            "weights": .array(
                weights.map { ["name": .string($0.name), "left": stored($0.left), "right": stored($0.right)] }),
            "others": .texts(others),
        ]
    }

    /// The verdicts, the sizes and the errors of the outputs.
    /// - Parameter folds: outputs and weights whose names differ in numbers only share a line.
    func text(folds: Bool) -> String {
        if left.report.document == right.report.document { return "the reports are the same" }
        if isEmpty { return "the reports are the same but for measured speeds\n\n\(summary)" }
        var parts = [summary]
        if !renamed.isEmpty {
            parts.append(renamed.map { "\($0.right) of B is compared with \($0.left) of A" }.joined(separator: "\n"))
        }
        if !rows.isEmpty { parts.append(outputTable(folds: folds)) }
        if !weights.isEmpty { parts.append(weightTable(folds: folds)) }
        if !others.isEmpty { parts.append("also different: \(others.joined(separator: ", "))") }
        return parts.joined(separator: "\n\n")
    }

    private var summary: String {
        var lines: [[String]] = []
        func add(_ title: String, change: String = "", _ text: (WrittenReport) -> String?) {
            let sides = [text(left.report), text(right.report)]
            if sides != [nil, nil] { lines.append([title] + sides.map { $0 ?? "-" } + [change]) }
        }
        func change(_ text: (Double) -> String, _ figure: (WrittenReport) -> Double?) -> String {
            guard let before = figure(left.report), let after = figure(right.report), before.isFinite, after.isFinite
            else { return "" }
            return text(after - before)
        }
        func percent(_ bytes: (WrittenReport) -> Int?) -> String {
            guard let before = bytes(left.report), let after = bytes(right.report), before > 0 else { return "" }
            return signed(100 * (Double(after) / Double(before) - 1), digits: 1) + "%"
        }
        add("verdict") { side in
            side.verdict + (side.failureCount == 0 ? "" : " (\(Wording.count(side.failureCount, "failure")))")
        }
        add("package") { $0.package.map { String($0.prefix(16)) } }
        add("runtime") { $0.runtime }
        if left.report.inputs != right.report.inputs { add("inputs") { $0.inputs } }
        add("stored weights", change: percent(\.storedBytes)) { Wording.bytes($0.storedBytes) }
        add("bits per weight", change: change({ signed($0, digits: 2) }, \.bitsPerWeight)) {
            Text.decimals($0.bitsPerWeight, 2)
        }
        add("package size", change: percent(\.packageBytes)) { $0.packageBytes.map { Wording.bytes($0) } }
        for what in (left.report.limits + right.report.limits).map(\.what).distinct {
            add(what) { side in
                side.limits.first { $0.what == what }.map { limit in
                    func figure(_ value: Double) -> String {
                        limit.isOfBytes ? Wording.bytes(Int(value)) : Text.decimals(value, 3)
                    }
                    let kept = limit.isKept ? "limit" : "beyond the limit"
                    return "\(figure(limit.value)), \(kept) \(figure(limit.limit))"
                }
            }
        }
        for function in Set(left.report.together.keys).union(right.report.together.keys).sorted() {
            let difference = change({ signed($0, digits: 1) }) { $0.together[function] }
            add("\(function): outputs together", change: difference) { side in
                side.together[function].map { "\(FigureText.decibels($0)) dB" }
            }
        }
        return Text.table(
            ["report", "A: \(left.path)", "B: \(right.path)", .number("B - A")], lines)
    }

    private func outputTable(folds: Bool) -> String {
        let compared = rows.filter(\.output.isEndToEnd)
        let shown = compared.isEmpty ? rows : compared
        let isAlone = Set(shown.map(\.output.function)).count == 1
        func text(_ value: Double?, _ text: (Double) -> String) -> String { value.map(text) ?? "-" }
        let groups = FoldedNames.all(shown, name: { $0.output.name }) { row in
            [row.output.stage, row.output.function, row.output.against, "\(row.left == nil) \(row.right == nil)"]
        }.compactMap { group -> (name: String, row: Row)? in
            // The line has the figures of the output whose SQNRs are furthest apart.
            guard let most = group.elements.max(by: { $0.distance < $1.distance }) else { return nil }
            let isOne = group.elements.count == 1
            return (isOne ? group.name : "\(group.name), most changed \(most.output.name)", most)
        }
        let cells = (folds ? groups : shown.map { ($0.output.name, $0) }).map { name, row -> [String] in
            [
                isAlone ? name : "\(row.output.function) \(name)", row.output.against,
                text(row.left?.sqnr, FigureText.decibels), text(row.right?.sqnr, FigureText.decibels),
                text(row.change(\.sqnr)) { signed($0, digits: 1) }, text(row.left?.cosine, FigureText.cosine),
                text(row.right?.cosine, FigureText.cosine), text(row.change(\.cosine)) { signed($0, digits: 6) },
            ]
        }
        return Text.table(
            [
                "output", "against", .number("SQNR dB of A"), .number("of B"), .number("B - A"), .number("cosine of A"),
                .number("of B"), .number("B - A"),
            ], cells)
    }

    /// Weights of the same schemes that share a line have the sum of their bytes.
    private func weightTable(folds: Bool) -> String {
        let groups =
            folds
            ? FoldedNames.all(weights, name: \.name) { [$0.left?.codec, $0.right?.codec] }
                .map { ($0.shortName, $0.elements) } : weights.map { ($0.name, [$0]) }
        let cells = groups.map { name, weights in
            let sides = [weights.map(\.left), weights.map(\.right)]
            let bytes = sides.map { side in side.reduce(0) { $0 + ($1?.byteCount ?? 0) } }
            return [name] + sides.map { $0.first??.codec ?? "-" } + bytes.map { Wording.bytes($0) }
        }
        return Text.table(
            ["weight", "stored in A as", "in B as", .number("bytes in A"), .number("in B")], cells)
    }

    private func signed(_ value: Double, digits: Int) -> String {
        (value > 0 ? "+" : "") + Text.decimals(value, digits)
    }
}
