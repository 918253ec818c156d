import AccelByteIO
import AccelCPURuntime
import AccelConversion
import AccelFormats
import AccelPackages
import AccelPrograms
import AccelTensors
import AccelWeightCompression

extension PackagedModel: InspectedSource {
    func inspection(_ request: InspectionRequest) throws -> Inspection {
        try Inspection(package, request)
    }
}

extension Inspection {
    /// Inspects a package: its overview, its functions, and the storage of each tensor of its checkpoint.
    init(_ package: AcceleratorPackage, _ request: InspectionRequest) throws {
        let manifest = package.manifest
        let coverage = try PackageCoverage(of: package)
        let report = try package.report
        let program = try package.graph.planned()
        var parts = [try Self.overview(package, report)]
        parts += try zip(program.functions, package.graph.functions).enumerated().map { index, pair in
            let (function, frozen) = pair
            var lines = [Self.signature(of: function)]
            if request.graph { lines.append(frozen.program.lines.dropFirst().joined(separator: "\n")) }
            if request.operators { lines.append(Self.operatorCounts(of: function)) }
            if request.plan {
                let kernels = try ExecutionPlan(program, function: index)
                lines.append(Self.plan(of: function, kernels, weights: program.weights.map(\.name)))
            }
            return lines.joined(separator: "\n")
        }
        parts.append(coverage.schemes)
        if request.tensors { parts.append(coverage.tensors(folds: request.folds)) }
        if !coverage.warnings.isEmpty { parts.append(coverage.warnings.joined(separator: "\n")) }
        text = parts.joined(separator: "\n\n")
        warnings = package.remarks
        json = [
            "kind": "package", "path": .string(package.path), "digest": .string(package.digest.description),
            "format": .string("\(manifest.major).\(manifest.minor)"), "bytes": .int(try package.byteCount),
            "bits_per_weight": .number(manifest.coverage.bitsPerWeight),
            "family": .string(manifest.provenance.family), "tool": .string(manifest.provenance.toolVersion),
            "recipe": manifest.provenance.recipe, "states": .string(manifest.provenance.states.rawValue),
            "remarks": .texts(manifest.provenance.remarks),
            "warnings": .texts(warnings),
            "required_features": .texts(manifest.requiredFeatures),
            "ignored_features": .texts(manifest.ignoredFeatures),
            "functions": .array(
                zip(program.functions, package.graph.functions).map {
                    Self.document($0, nodes: $1.program.nodes.count)
                }),
            "files": .array(
                manifest.files.map {
                    [
                        "name": .string($0.name), "bytes": .int($0.byteCount),
                        "digest": .string($0.digest.description),
                    ]
                }),
            "coverage": coverage.json,
            "report": report ?? .null,
        ]
    }

    private static func overview(_ package: AcceleratorPackage, _ report: JSON?) throws -> String {
        let manifest = package.manifest
        let provenance = manifest.provenance
        var lines = [
            "\(package.path): accelerator package \(manifest.major).\(manifest.minor), \(Wording.bytes(try package.byteCount)), "
                + "\(Text.decimals(manifest.coverage.bitsPerWeight, 2)) bits per weight",
            "  digest: \(package.digest)",
            "  made by: accelc \(provenance.toolVersion), family \(provenance.family)",
            "  recipe: \(provenance.recipe.text())",
            "  sources: \(provenance.sources.map { "\($0.name) (\(Wording.bytes($0.byteCount)))" }.joined(separator: ", "))",
            "  assets: \(manifest.assetNames.isEmpty ? "none" : manifest.assetNames.joined(separator: ", "))",
            "  report: \(try state(of: report, package))",
        ]
        if let tokens = package.textTokens { lines.append("  text: \(tokens)") }
        if provenance.states != .float32 { lines.append("  key/value caches: \(provenance.states.rawValue)") }
        if let activations = try package.activations() { lines.append("  \(activations)") }
        lines += provenance.remarks.map { "  remark: \($0)" }
        if provenance.logits != .all { lines.append("  logits of the last position only, on request") }
        lines += provenance.ignoredTensors.map { "  left out on request: \($0)" }
        if !manifest.ignoredFeatures.isEmpty {
            lines.append("  unknown features, ignored: \(manifest.ignoredFeatures.joined(separator: ", "))")
        }
        return lines.joined(separator: "\n")
    }

    /// Returns the result that the report of the last `verify` records; the report is verify.json in a package's folder.
    private static func state(of report: JSON?, _ package: AcceleratorPackage) throws -> String {
        guard let report else {
            return Files.kind(of: package.path) == .folder
                ? "none; run accelc verify" : "none: a zip keeps none (accelc verify --report FILE writes one)"
        }
        switch try JSONField(report, file: package.path)["verdict"].string() {
        case "passed": return "verified as it is"
        case let verdict: return "\(verdict): accelc verify did not pass"
        }
    }

    private static func signature(of function: FunctionPlan) -> String {
        var lines = [
            "function \(function.name): \(Wording.count(function.calls.count, "call")), values \(Wording.bytes(function.arenaBytes))",
            "  role \(function.interface.role)",
        ]
        let interface = function.interface
        lines += Self.lines(of: function.inputs.map { ($0.name, $0.typeText) }, .input, of: interface, "in   ")
        lines += Self.lines(
            of: function.states.map { ($0.name, "\($0.typeText), \(Text.number($0.initial)) at first") }, .state,
            of: interface, "state ")
        lines += Self.lines(
            of: function.outputs.map { ($0.name, "\($0.operand.elementType.rawValue)\($0.operand.shape)") }, .output,
            of: interface, "out  ")
        return lines.joined(separator: "\n")
    }

    private static func operatorCounts(of function: FunctionPlan) -> String {
        let counts = Dictionary(grouping: function.calls) { $0.operation.name }.mapValues { calls in
            let work = calls.reduce(0) { $0 + $1.operation.multiplyAdds($1.inputs.map(\.shape)) }
            return (calls.count, work)
        }
        return Text.table(
            ["operator", .number("calls"), .number("multiply-adds")],
            counts.sorted { $0.key < $1.key }.map {
                [$0.key, Wording.grouped($0.value.0), Wording.grouped($0.value.1)]
            })
    }

    private static func plan(of function: FunctionPlan, _ plan: ExecutionPlan, weights: [String]) -> String {
        func text(_ operand: Operand) -> String {
            let location =
                switch operand.storage {
                case .input(let index): function.inputs.indices.contains(index) ? function.inputs[index].name : "?"
                case .weight(let index): weights.indices.contains(index) ? weights[index] : "?"
                case .arena(let offset): "@\(offset)"
                case .state(let index): function.states.indices.contains(index) ? function.states[index].name : "?"
                }
            return
                "\(location) \(operand.elementType.rawValue)\(operand.shape)\(operand.layout.isContiguous ? "" : " strided")"
        }
        let width = String(function.calls.count).count
        let memory =
            "  memory: \(Wording.bytes(plan.valueBytes)) of values, \(Wording.bytes(plan.scratchBytes)) of scratch on one thread, "
            + "\(Wording.bytes(plan.stateBytes)) of states, \(Wording.bytes(plan.decodedBytes)) of decoded weights"
        let calls = function.calls.enumerated().map { index, call in
            let number = String(repeating: " ", count: width - String(index).count) + "\(index)"
            let (reads, writes) = (call.inputs.map(text), call.outputs.map(text))
            return
                "  \(number)  \(writes.joined(separator: ", ")) = \(call.operation.name)(\(reads.joined(separator: ", ")))"
                + "\(call.operation.attributes.text) \"\(call.label)\"\n"
                + String(repeating: " ", count: width + 6) + Self.text(of: plan.choices[index])
        }
        return ([memory] + calls).joined(separator: "\n")
    }

    /// Returns the kernel and the reason for it, then the other candidates.
    private static func text(of choice: KernelChoice) -> String {
        func cost(_ candidate: KernelChoice.Candidate) -> String {
            candidate.cost.map { "cost \(Text.number($0))" } ?? candidate.reason
        }
        let others = choice.candidates.enumerated().filter { $0.offset != choice.chosen }.map(\.element)
        let chosen = choice.candidates[choice.chosen]
        var text = "by \(chosen.kernel): \(([chosen.reason] + choice.staged).joined(separator: ", "))"
        if !others.isEmpty {
            text += "; \(cost(chosen)), \(others.map { "\($0.kernel): \(cost($0))" }.joined(separator: ", "))"
        }
        return text
    }

    private static func document(_ function: FunctionPlan, nodes: Int) -> JSON {
        return [
            "name": .string(function.name), "part": .string(function.part),
            "nodes": .int(nodes), "calls": .int(function.calls.count),
            "arena_bytes": .int(function.arenaBytes),
            "interface": function.interface.json,
            "inputs": .array(function.inputs.map { .tensor($0.name, $0.elementType.rawValue, $0.shape.dimensions) }),
            "states": .array(
                function.states.map {
                    .tensor(
                        $0.name, $0.elementType.rawValue, $0.shape.dimensions, [.init("initial", .number($0.initial))])
                }),
            "outputs": .array(
                function.outputs.map {
                    .tensor($0.name, $0.operand.elementType.rawValue, $0.operand.shape.dimensions)
                }),
        ]
    }
}
