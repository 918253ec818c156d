import AccelByteIO
import AccelCPURuntime
import AccelPackages
import AccelPrograms
import TestSupport
import Testing

@testable import AccelVerification

@Suite("Budgets")
struct BudgetTests {
    private func budget(_ text: String) throws -> Budget {
        try Budget(JSONField(try JSON.parse(ByteView(Array(text.utf8)), file: "budget.json"), file: "budget.json"))
    }

    private func check(_ budget: Budget) throws -> ParityReport {
        let model = try TinyModel()
        return try Parity(of: .planned(try model.planned("bfloat16")), against: .reference([model.program]))
            .check(.init(budget: budget))
    }

    @Test(
        "A budget that sets no limit and allows nothing is a mistake",
        arguments: [
            (#"{}"#, "under outputs"), (#"{"outputs": []}"#, "under outputs"), (#"{"size": {}}"#, "bitsPerWeight"),
            (#"{"outputs": [{"match": "*", "sqnr": 1}], "size": {}}"#, "bitsPerWeight"),
            (#"{"outputs": [{"match": "*", "sqnr": 1}], "quality": {}}"#, "perplexity"),
            (#"{"weights": [], "operators": [], "allow": {"structure": []}}"#, "under outputs"),
        ])
    func empty(text: String, reason: String) throws {
        let error = #expect(throws: FormatError.self) { try budget(text) }
        #expect(error.map { "\($0)" }?.contains(reason) == true)
        _ = try budget(#"{"allow": {"structure": ["assets/vocab.txt"]}}"#)
        _ = try budget(#"{"size": {"bytes": 1}}"#)
    }

    @Test("Budgets bound the package's bytes and its memory, and say so where there is no package")
    func resources() throws {
        try withTemporaryFolder { folder in
            let path = "\(folder)/numbered.accelpkg"
            try NumberedModel(1).write(to: path)
            let package = try AcceleratorPackage(at: path)
            let footprint = try Footprint(of: package.graph, packageBytes: package.byteCount)
            func report(_ packageBytes: Int, _ memoryBytes: Int) throws -> ParityReport {
                let text = #"{"size": {"packageBytes": \#(packageBytes)}, "memory": {"bytes": \#(memoryBytes)}}"#
                return try Parity(of: .package(package), against: nil)
                    .check(.init(stages: [.container], budget: budget(text)))
            }
            let kept = try report(footprint.packageBytes, footprint.memoryBytes)
            #expect(kept.exitStatus == .success && kept.limits.count == 2, "\(kept.terminal())")
            #expect(kept.terminal().contains("bytes of memory \(Wording.grouped(footprint.memoryBytes)) <= "))
            let exceeded = try report(footprint.packageBytes - 1, footprint.memoryBytes - 1)
            #expect(exceeded.exitStatus == .exceeded && exceeded.failures.count == 2)
        }
        let alone = try check(budget(#"{"memory": {"bytes": 1000000000}}"#))
        #expect(alone.exitStatus == .usage && alone.budgetMistakes.first?.location == "budget.json, field memory.bytes")
    }

    @Test("The schema of budgets has each figure of a text", arguments: QualityFinding.Figure.Kind.allCases)
    func qualityFigures(_ kind: QualityFinding.Figure.Kind) throws {
        let text = #"{"quality": {"\#(kind.rawValue)": 0.5}}"#
        let document = try JSON.parse(ByteView(Array(text.utf8)), file: "budget.json")
        #expect(try JSONSchema(named: "budget.schema.json").violations(of: document) == [])
        #expect(try budget(text).quality.map(\.kind) == [kind])
    }

    @Test("The schema of reports has each figure that a budget may limit")
    func figures() throws {
        let schema = try JSONSchema(named: "report.schema.json")
        for resource in Resource.allCases {
            var report = try check(budget(#"{"size": {"bytes": 1000000000}}"#))
            report.limits = [LimitFinding(resource, value: 1, limit: 1)]
            #expect(schema.violations(of: report.json) == [], "\(resource)")
        }
    }

    @Test("The limits of a device's profile are limits of the package, each named with both numbers")
    func profiles() throws {
        try withTemporaryFolder { folder in
            let path = "\(folder)/numbered.accelpkg"
            try NumberedModel(1).write(to: path)
            let package = try AcceleratorPackage(at: path)
            let footprint = try Footprint(of: package.graph, packageBytes: package.byteCount)
            func failures(_ packageBytes: Int?, _ memoryBytes: Int?) throws -> [String] {
                let profile = DeviceProfile("small", packageBytes: packageBytes, memoryBytes: memoryBytes)
                let options = Parity.Options(stages: [.container], profile: profile)
                return try Parity(of: .package(package), against: nil).check(options).failures.map(\.reason)
            }
            #expect(try failures(nil, nil).isEmpty)
            #expect(try failures(footprint.packageBytes, footprint.memoryBytes).isEmpty)
            let (size, memory) = (footprint.packageBytes - 1, footprint.memoryBytes - 1)
            let found = try failures(size, memory)
            #expect(found.count == 2 && found.allSatisfy { $0.hasSuffix("of the profile small") }, "\(found)")
            #expect(found[0].contains(Wording.grouped(size + 1)) && found[0].contains(Wording.grouped(size)))
        }
    }

    @Test(
        "Limits of a budget take the place of the default ones, by glob",
        arguments: [
            (#"{"outputs": [{"match": "logits", "sqnr": 20}]}"#, nil),
            (#"{"outputs": [{"match": "log*", "sqnr": 90}]}"#, Stage.outputs),
            (#"{"outputs": [{"match": "*", "maximumError": 1e-9}]}"#, .outputs),
            (#"{"weights": [{"match": "*.query.weight", "sqnr": 90}]}"#, .weights),
            (#"{"operators": [{"match": "layer.0.query*", "injected": {"sqnr": 90}}]}"#, .operators),
            (#"{"operators": [{"match": "norm*", "propagated": {"relativeL2": 1e-9}}]}"#, .operators),
            (#"{"size": {"bitsPerWeight": 16.5}}"#, nil),
            (#"{"size": {"bytes": 1000}}"#, .weights),
            (#"{"outputs": [{"match": "*", "cosine": 0.99}]}"#, nil),
            (#"{"outputs": [{"match": "*", "cosine": 0.99999999999}]}"#, .outputs),
            (#"{"speed": {"relativeToFloat32": 1e-3}}"#, nil),
            (#"{"speed": {"relativeToFloat32": 1e3}}"#, .weights),
        ] as [(String, Stage?)])
    func limits(text: String, failing: Stage?) throws {
        let budget = try budget(text)
        #expect(try JSONSchema(named: "budget.schema.json").violations(of: budget.json).isEmpty)
        let report = try check(budget)
        #expect(Set(report.failures.map(\.stage)) == Set([failing].compactMap { $0 }), "\(report.terminal())")
        #expect(report.exitStatus == (failing == nil ? .success : .exceeded))
    }

    @Test(
        "A budget with a mistake names the field",
        arguments: [
            (#"{"output": []}"#, "output"),
            (#"{"outputs": [{"sqnr": 3}]}"#, "outputs[0].match"),
            (#"{"outputs": [{"match": "*", "cosine": 1.01}]}"#, "outputs[0].cosine"),
            (#"{"memory": {"bytes": -1}}"#, "memory.bytes"),
            (#"{"speed": {"relativeToFloat32": -1}}"#, "speed.relativeToFloat32"),
            (#"{"outputs": [{"match": "*"}]}"#, "outputs[0]"),
            (#"{"weights": [{"match": "*", "sqnr": "high"}]}"#, "weights[0].sqnr"),
            (#"{"size": {"bytes": -1}}"#, "size.bytes"),
            (#"{"operators": [{"match": "*"}]}"#, "operators[0]"),
        ])
    func mistakes(text: String, field: String) throws {
        let error = #expect(throws: FormatError.self) { try budget(text) }
        #expect(error?.location == .field(field))
        let document = try JSON.parse(ByteView(Array(text.utf8)), file: "budget.json")
        #expect(try !JSONSchema(named: "budget.schema.json").violations(of: document).isEmpty)
    }

    @Test(
        "An entry that nothing is held to is a mistake, and says why",
        arguments: [
            (#"{"outputs": [{"match": "logit", "sqnr": 1}]}"#, "outputs[0]", #"did you mean "logits"?"#),
            (#"{"outputs": [{"match": "pooled", "sqnr": 1}]}"#, "outputs[0]", #""pooled" matches no limited output"#),
            (
                #"{"outputs": [{"match": "lo*", "sqnr": 1}, {"match": "logits", "sqnr": 2}]}"#, "outputs[1]",
                #"never reached: outputs[0] comes first for "logits""#
            ),
            (#"{"weights": [{"match": "*.qeury.weight", "sqnr": 1}]}"#, "weights[0]", "query.weight\"?"),
            (
                #"{"weights": [{"match": "*", "sqnr": 1}, {"match": "*.query.weight", "sqnr": 1}]}"#, "weights[1]",
                "never reached: weights[0]"
            ),
            (
                #"{"operators": [{"match": "layer.0.qeury*", "injected": {"sqnr": 1}}]}"#, "operators[0]",
                "did you mean \"layer.0.query"
            ),
            (
                #"{"operators": [{"match": "layer.0.qeury*", "injected": {"sqnr": 1}, "propagated": {"sqnr": 1}}]}"#,
                "operators[0]", "did you mean \"layer.0.query"
            ),
            (
                #"{"operators": [{"match": "*", "injected": {"sqnr": 1}}, {"match": "norm*", "propagated": {"sqnr": 1}}]}"#,
                "operators[1]", "never reached: operators[0]"
            ),
        ])
    func unused(text: String, place: String, reason: String) throws {
        let report = try check(try budget(text))
        #expect(
            report.budgetMistakes.map(\.location) == ["budget.json, field \(place).match"], "\(report.budgetMistakes)")
        #expect(report.budgetMistakes.first?.reason.contains(reason) == true, "\(report.budgetMistakes)")
        #expect(report.exitStatus == .usage, "\(report.terminal())")
        #expect(report.headline.contains("1 rule of the budget has no effect"))
    }

    @Test("A limit for a stage that could not run is a mistake, and a failure beside it is the graver one")
    func notCompared() throws {
        let model = try TinyModel()
        let failing = try budget(
            #"{"outputs": [{"match": "logits", "sqnr": 500}], "weights": [{"match": "wieght", "sqnr": 1}]}"#)
        #expect(try check(failing).exitStatus == .exceeded)
        #expect(try check(failing).budgetMistakes.count == 1)
        let weightsOnly = try Parity(
            of: .planned(try model.planned("bfloat16")), against: .reference([model.program])
        )
        .check(.init(stages: [.weights], budget: try budget(#"{"outputs": [{"match": "logit", "sqnr": 1}]}"#)))
        #expect(weightsOnly.budgetMistakes.isEmpty, "outputs were not asked for")
    }
}
