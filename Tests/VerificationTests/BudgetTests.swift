import ByteIO
import Programs
import TestSupport
import Testing

@testable import Verification

@Suite("Budgets")
struct BudgetTests {
    private func budget(_ text: String) throws -> Budget {
        try Budget(JSONField(try JSON.parse(ByteView(Array(text.utf8)), file: "budget.json"), file: "budget.json"))
    }

    private func check(_ budget: Budget) throws -> ParityReport {
        let model = try TinyModel()
        return try Parity(of: .compiled(try model.compiled("bfloat16")), against: .reference([model.program]))
            .check(.init(budget: budget))
    }

    @Test(
        "Limits of a budget take the place of the default ones, by glob",
        arguments: [
            (#"{"outputs": [{"match": "logits", "sqnr": 20}]}"#, nil),
            (#"{"outputs": [{"match": "log*", "sqnr": 90}]}"#, Stage.outputs),
            (#"{"outputs": [{"match": "*", "maximumError": 1e-9}]}"#, .outputs),
            (#"{"weights": [{"match": "*.query.weight", "sqnr": 90}]}"#, .weights),
            (#"{"weights": [{"match": "nothing", "sqnr": 90}]}"#, nil),
            (#"{"operators": [{"match": "layer.0.query*", "injected": {"sqnr": 90}}]}"#, .operators),
            (#"{"operators": [{"match": "norm*", "propagated": {"relativeL2": 1e-9}}]}"#, .operators),
            (#"{"size": {"bitsPerWeight": 16.5}}"#, nil),
            (#"{"size": {"bytes": 1000}}"#, .weights),
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
            (#"{"outputs": [{"match": "*", "cosine": 0.99}]}"#, "outputs[0].cosine"),
            (#"{"outputs": [{"match": "*"}]}"#, "outputs[0]"),
            (#"{"weights": [{"match": "*", "sqnr": "high"}]}"#, "weights[0].sqnr"),
            (#"{"size": {"bytes": -1}}"#, "size.bytes"),
        ])
    func mistakes(text: String, field: String) throws {
        let error = #expect(throws: FormatError.self) { try budget(text) }
        #expect(error?.place == .field(field))
        let document = try JSON.parse(ByteView(Array(text.utf8)), file: "budget.json")
        #expect(try !JSONSchema(named: "budget.schema.json").violations(of: document).isEmpty)
    }
}
