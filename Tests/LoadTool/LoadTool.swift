import AccelByteIO
import Foundation

/// What apps do to models, as much of it as a machine bears. Prints rows of scripts/reliability.sh.
///
///     cancellation MOMENTS THREADS [OPERATOR...]   cancels runs of each operator
///     predictions PACKAGE TASKS RUNS CONCURRENCY   runs the functions of a package from many tasks at a time
///     opening PACKAGE MOMENTS                      cancels the opening of a package
@main
enum LoadTool {
    static func main() async {
        do { try await run(Array(CommandLine.arguments.dropFirst())) } catch {
            CancellationLoad.note("LoadTool: \(error)")
            exit(1)
        }
    }

    private static func run(_ words: [String]) async throws {
        func number(_ index: Int) throws -> Int {
            guard words.indices.contains(index), let number = Int(words[index]), number > 0 else {
                throw RequestError("expected a number above 0 as argument \(index + 1)")
            }
            return number
        }
        switch words.first {
        case "cancellation":
            let missing = try CancellationLoad(moments: number(1), threads: number(2)).run(
                only: Array(words.dropFirst(3)))
            guard missing.isEmpty else {
                throw RequestError("operators without a load: \(missing.joined(separator: ", "))")
            }
        case "predictions" where words.count > 1:
            try await PredictionLoad(tasks: number(2), runs: number(3), concurrency: number(4)).run(words[1])
        case "opening" where words.count > 1:
            try await OpeningLoad(moments: number(2)).run(words[1])
        default:
            print(
                "usage: cancellation MOMENTS THREADS | predictions PACKAGE TASKS RUNS CONCURRENCY | opening PACKAGE MOMENTS"
            )
        }
    }
}
