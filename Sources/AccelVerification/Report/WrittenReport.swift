package import AccelByteIO

/// A report as `ParityReport.json` writes it, as far as reports are compared.
package struct WrittenReport: Sendable {
    /// An output or a state, and what it was compared with.
    package struct Output: Hashable, Sendable {
        package let stage: String
        package var function: String
        package let name: String
        package let against: String

        /// The graph stage compares with the stored weights: its figures are those of rounding, not of compression.
        package var isEndToEnd: Bool { stage == Stage.outputs.code }
    }

    /// The error of an output.
    package struct Figures: Equatable, Sendable {
        package let sqnr: Double
        package let cosine: Double
    }

    /// A limit of sizes, memory or speed.
    package struct Limit: Sendable {
        package let what: String
        package let value: Double
        package let limit: Double
        package let isKept: Bool
        /// The limit is one of bytes.
        package let isOfBytes: Bool
        /// The limit as it was written.
        package let json: JSON
    }

    /// The storage of a weight.
    package struct Weight: Equatable, Sendable {
        package let codec: String
        package let byteCount: Int
    }

    /// The whole report.
    package let document: JSON
    package let verdict: String
    package let failureCount: Int
    /// The digest of the package; nil for another subject.
    package let package: String?
    /// The runtime of another project that computed the outputs; nil if none did.
    package let runtime: String?
    package let inputs: String
    /// The bytes of all stored weights.
    package let storedBytes: Int
    package let bitsPerWeight: Double
    package let limits: [Limit]
    package var outputs: [(output: Output, figures: Figures)]
    /// The SQNR of the outputs of each function together, by the function's name.
    package var together: [String: Double]
    /// By name.
    package let weights: [String: Weight]

    /// Returns the report that a document is, or that it has as `verify.json` of a package; nil if there is none.
    package static func report(in document: JSON) -> JSON? {
        [document, document["report"]].compactMap(\.self).first { $0["accelc"] == .string(ParityReport.mark) }
    }

    /// - Throws: `FormatError` if the file is no report.
    package init(_ path: String) throws {
        let content = try JSON.read(path)
        document = Self.report(in: content) ?? content
        let report = JSONField(document, file: path)
        verdict = try report["verdict"].string()
        failureCount = try report["failures"].array().count
        package = report["package"].exists ? try report["package"].string() : nil
        runtime = report["runtime"].exists ? try report["runtime"]["name"].string() : nil
        inputs = try report["inputs"]["source"].string()
        storedBytes = try report["size"]["bytes"].int(in: 0...Int.max)
        bitsPerWeight = try report["size"]["bitsPerWeight"].double()
        limits = try report["size"]["limits"].array().map { limit in
            let what = try limit["what"].string()
            return Limit(
                what: what, value: try limit["value"].double(), limit: try limit["limit"].double(),
                isKept: try limit["isKept"].bool(), isOfBytes: Resource(rawValue: what)?.isOfBytes ?? false,
                json: limit.value ?? .null)
        }
        outputs = try report["outputs"].array().map { row in
            let metrics = row["metrics"]
            return (
                Output(
                    stage: try row["stage"].string(), function: try row["function"].string(),
                    name: try row["name"].string(), against: try row["against"].string()),
                Figures(sqnr: try metrics["sqnr"].figure(), cosine: try metrics["cosine"].figure())
            )
        }
        // Reports of earlier versions have none.
        let joined = report["together"].exists ? try report["together"].array() : []
        together = Dictionary(try joined.map { (try $0["function"].string(), try $0["sqnr"].figure()) }) { first, _ in
            first
        }
        weights = Dictionary(
            try report["coverage"].array().map { row in
                let weight = Weight(codec: try row["codec"].string(), byteCount: try row["bytes"].int(in: 0...Int.max))
                return (try row["name"].string(), weight)
            }
        ) { first, _ in first }
    }

    /// The bytes of all files of the package; nil if nothing limited them, for only limited sizes are in a report.
    package var packageBytes: Int? {
        limits.first { $0.what == Resource.packageBytes.rawValue }.flatMap { Int(exactly: $0.value.rounded()) }
    }

    /// The report without measured speeds: no two runs measure the same.
    package var withoutSpeeds: JSON {
        document.replacing("size") { size in
            size.replacing("limits") { limits in
                limits.rows { $0["runs"] == nil ? [] : ["value", "runs", "least", "most"] }
            }
        }
    }

    /// Returns a list of the report without what follows from a budget.
    package func withoutLimits(_ list: String) -> JSON? { document[list]?.rows { _ in ["tolerance", "failure"] } }
}

extension JSON {
    /// Returns an object with one of its members replaced.
    fileprivate func replacing(_ key: String, _ change: (JSON) -> JSON) -> JSON {
        guard case .object(let members) = self else { return self }
        return .object(members.map { $0.key == key ? Member(key, change($0.value)) : $0 })
    }

    /// Returns a list of objects without some of their members.
    fileprivate func rows(without names: (JSON) -> Set<String>) -> JSON {
        guard case .array(let rows) = self else { return self }
        return .array(
            rows.map { row in
                guard case .object(let members) = row else { return row }
                let left = names(row)
                return .object(members.filter { !left.contains($0.key) })
            })
    }
}
