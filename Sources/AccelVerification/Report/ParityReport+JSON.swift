public import AccelByteIO
import AccelCalibration
import AccelPackages
import AccelTensors

extension ParityReport {
    /// The value of the member `accelc`, which marks a file as a report.
    static let mark = "parity report"

    /// The whole report, in the format of schemas/report.schema.json.
    public var json: JSON {
        [
            "accelc": .string(Self.mark),
            "format": ["major": 1, "minor": 8],
            "verdict": .string(verdict.rawValue),
            "headline": .string(headline),
            "exitStatus": .integer(Int64(exitStatus.rawValue)),
            "package": packageDigest.map { .string($0.description) } ?? .null,
            "inputs": ["source": .string(inputs), "seed": seed.map { .string(String($0)) } ?? .null],
            "runtime": runtime.map { ["name": .string($0.name), "activations": .string($0.activations)] } ?? .null,
            "functions": .array(functions.map(JSON.string)),
            "stages": .array(stagesJSON),
            "failures": .array(
                failures.map {
                    let stage = isLimit($0.name) ? "limits" : $0.stage.code
                    return ["stage": .string(stage), "name": .string($0.name), "reason": .string($0.reason)]
                }),
            "uncheckedLimits": .array(uncheckedLimits.map { .string($0) }),
            "notCompared": .array(
                notCompared.map {
                    ["stage": .string($0.stage.code), "name": .string($0.name), "reason": .string($0.reason)]
                }),
            "quality": quality?.json ?? .null,
            "structure": structure?.json ?? .null,
            "size": [
                "bytes": .integer(Int64(storedBytes)), "elements": .integer(Int64(storedElements)),
                "bitsPerWeight": .figure(bitsPerWeight),
                "limits": .array(
                    limits.map {
                        .object(
                            [
                                .init("what", .string($0.what)), .init("value", .figure($0.value)),
                                .init("limit", .figure($0.limit)),
                                .init("bound", .string($0.isLeast ? "at least" : "at most")),
                                .init("origin", .string($0.origin)), .init("isKept", .bool($0.failure == nil)),
                            ] + ($0.measured?.json ?? []))
                    }),
            ],
            "budget": budget ?? .null,
            "selfTest": selfTest?.json ?? .null,
            "outputs": .array(outputs.map(\.json)),
            "together": .array(
                together.map {
                    [
                        "function": .string($0.function), "outputs": .integer(Int64($0.outputs)),
                        "sqnr": .figure($0.sqnr),
                    ]
                }),
            "weights": .array(weights.map(\.json)),
            "ranking": .array(losses.map { $0.json(figure: JSON.figure) }),
            "rankingRuns": rankingRuns.map { runs in
                [
                    "measured": .integer(Int64(runs.measured)), "of": .integer(Int64(runs.count)),
                    "drawn": rankingDrawn.map(JSON.string) ?? .null,
                    "tokens": rankingTokens.map { .integer(Int64($0)) } ?? .null,
                ]
            } ?? .null,
            "rowBounds": .array(rowBounds.map(JSON.string)),
            "sampling": samplingJSON,
            "operators": .array(operators.map(\.json)),
            "coverage": .array(coverage.map(\.json)),
            "unused": .array(unused.map { ["name": .string($0.name), "reason": .string($0.reason)] }),
        ]
    }

    /// The stages that ran, and the limits of the whole package as one more.
    private var stagesJSON: [JSON] {
        func row(_ code: String, _ title: String, _ comparisons: Int, _ failures: Int) -> JSON {
            [
                "stage": .string(code), "title": .string(title), "comparisons": .integer(Int64(comparisons)),
                "failures": .integer(Int64(failures)),
            ]
        }
        let ofLimits = row("limits", "limits", limits.count, limits.count { $0.failure != nil })
        return stages.map { row($0.code, $0.title, comparisons(in: $0), failures(in: $0)) }
            + (limits.isEmpty ? [] : [ofLimits])
    }
}

extension JSON {
    fileprivate static func shape(_ shape: Shape) -> JSON { .array(shape.dimensions.map { .integer(Int64($0)) }) }

    /// The member `failure`; null if passed.
    fileprivate static func failure(_ failure: String?) -> JSON { failure.map(JSON.string) ?? .null }
}

extension StructureFinding {
    var json: JSON {
        [
            "compared": .array(
                compared.map { ["what": .string($0.what), "count": .integer(Int64($0.count))] }),
            "differences": .array(
                differences.map { ["name": .string($0.name), "reason": .string($0.reason)] }),
            "allowed": .array(allowed.map { ["name": .string($0.name), "reason": .string($0.reason)] }),
            "remarks": .array(remarks.map(JSON.string)),
        ]
    }
}

extension RowBound.Finding {
    fileprivate var json: JSON { ["reason": .string(reason.rawValue), "row": .figure(row), "tensor": .figure(tensor)] }
}

extension WeightFinding {
    var json: JSON {
        [
            "name": .string(name), "shape": .shape(shape), "codec": .string(codec), "bytes": .integer(Int64(byteCount)),
            "sourceBytes": .integer(Int64(sourceByteCount)), "bitsPerWeight": .figure(bitsPerWeight),
            "metrics": metrics.json, "tolerance": tolerance.json, "rowBound": bound?.json ?? .null,
            "failure": .failure(failure),
        ]
    }
}

extension OperatorFinding {
    var json: JSON {
        [
            "function": .string(function), "label": .string(label), "operator": .string(kind), "shape": .shape(shape),
            "sampledRows": sampledRows.map { .integer(Int64($0)) } ?? .null, "kernel": kernel.json,
            "injected": injected.json, "propagated": propagated?.json ?? .null, "failure": .failure(failure),
        ]
    }
}

extension OutputFinding {
    var json: JSON {
        [
            "stage": .string(stage.code), "function": .string(function), "name": .string(name), "shape": .shape(shape),
            "against": .string(reference.rawValue), "metrics": metrics.json, "tolerance": tolerance.json,
            "failure": .failure(failure),
            "labels": labels.map {
                [
                    "right": .integer(Int64($0.right)), "originalRight": .integer(Int64($0.originalRight)),
                    "count": .integer(Int64($0.count)),
                ]
            } ?? .null,
        ]
    }
}

extension CoverageFinding {
    var json: JSON {
        [
            "name": .string(name), "codec": .string(codec), "bytes": .integer(Int64(byteCount)),
            "readers": .array(readers.map(JSON.string)), "reason": reason.map(JSON.string) ?? .null,
        ]
    }
}
