import AccelByteIO
import AccelPrograms
import AccelTensors
import Foundation
import TestSupport
import Testing

@testable import AccelFormats

@Suite("Operators in Core ML")
struct LoweringTests {
    /// What becomes of an operator: the words of the table in schemas/coreml-operators.md.
    static func outcome(_ sample: OperatorSample, for target: CoreMLTarget) throws -> String {
        let options = CoreMLOptions(target: target, floatType: .float16, layout: .plain, allowsFallback: false)
        do {
            let lowered = try FunctionLowering(
                try sample.function(), weights: WeightLowering([], options: options), options: options
            ).lowered(named: "main")
            return lowered.counts.decomposed[sample.operation.name] == nil ? "native" : "decomposed"
        } catch is RequestError {
            return "none"
        }
    }

    /// A row an operation of Core ML.
    private static var importRows: [String] {
        ImportRules.all.sorted { $0.name < $1.name }.map { rule in
            let operators = rule.operators.map { $0.name }.joined(separator: ", ")
            return "| \(rule.name) | \(rule.since.rawValue) | \(rule.inputs.joined(separator: ", ")) | \(operators) |"
        }
    }

    private static var unreached: [String] {
        let made = Set(ImportRules.all.flatMap { $0.operators.map { $0.name } })
        return Operators.all.map { $0.name }.filter { !made.contains($0) }.sorted()
    }

    /// A row an operator, a column a target; where it depends on the operator's attributes or inputs, all that occur.
    static func table() throws -> String {
        let samples = Dictionary(grouping: OperatorSample.all) { $0.operation.name }
        let rows = try samples.keys.sorted().map { name in
            let cells = try CoreMLTarget.allCases.map { target in
                Set(try (samples[name] ?? []).map { try outcome($0, for: target) }).sorted().joined(separator: ", ")
            }
            return "| \(name) | \(cells.joined(separator: " | ")) |"
        }
        let targets = CoreMLTarget.allCases.map(\.rawValue)
        return """
            # Operators in Core ML

            What `accelc export --format coreml` makes of each operator: `native`, said by Core ML's own operations; `decomposed`, said by
            other operators; `none`, rejected. More than one word: it depends on the operator's attributes or inputs.

            | operator | \(targets.joined(separator: " | ")) |
            |---|\(targets.map { _ in "---|" }.joined())
            \(rows.joined(separator: "\n"))

            ## Import

            What `accelc convert` makes of each operation of a package's functions. An operation that is not listed is rejected by name. Where no
            operators are listed its result is known while the function is read, or is a state's.

            | operation | since | inputs that are read | operators |
            |---|---|---|---|
            \(importRows.joined(separator: "\n"))

            Operators that no operation is imported as, since packages have others in their place:
            \(unreached.joined(separator: ", ")).

            """
    }

    @Test("What becomes of each operator for each target is what schemas/coreml-operators.md says")
    func matrix() throws {
        let path = Fixtures.repository + "/schemas/coreml-operators.md"
        let table = try Self.table()
        if ProcessInfo.processInfo.environment["ACCELC_UPDATE"] != nil {
            try table.write(toFile: path, atomically: true, encoding: .utf8)
        }
        #expect(try String(contentsOfFile: path, encoding: .utf8) == table)
    }

    @Test("Every operator of the registry can be said for iOS 18, but for what is known not to be")
    func complete() throws {
        for sample in OperatorSample.all where !Self.rejected.contains(sample.name) {
            #expect(try Self.outcome(sample, for: .iOS18) != "none", "\(sample.name)")
        }
    }

    /// More output at the end of a transposed convolution than its padding cuts off; rounded rows, for which Core ML has no
    /// operation.
    private static let rejected: Set = [
        "conv_transpose_grouped", "quantized_linear", "quantized_linear_relu", "quantized_linear_static",
        "quantized_linear_bfloat16", "lstm", "lstm_reverse", "lstm_valid", "lstm_valid_reverse", "lstm_valid_one",
        "round_rows", "round_rows_special", "widen_rows", "widen_rows_special",
        "attention_rows",
    ]
}

extension OperatorSample {
    /// The operator alone, its parameters constants and the rest inputs.
    func function() throws -> FrozenProgram {
        var builder = ProgramBuilder(name: name)
        let constants: Set = ["linear", "conv", "conv_transpose", "layer_norm", "rms_norm", "group_norm", "lstm_cell"]
        let values = try inputs().enumerated().map { index, tensor in
            let isState = operation.name == "lstm_cell" && index == 1
            return constants.contains(operation.name) && index > 0 && !isState
                ? builder.literal(tensor, name: "constant\(index)") : builder.input("input\(index)", tensor.type)
        }
        builder.output("result", try builder.apply(try frozen(), values))
        return try builder.finish().freezing(ShapeBindings())
    }
}
