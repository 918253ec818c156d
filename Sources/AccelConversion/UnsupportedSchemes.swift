import AccelCalibration
import AccelFormats
import AccelPrograms
import AccelTensors
import AccelWeightCompression

/// The schemes of a target's search that the format of an export cannot have for weights of some shapes.
struct UnsupportedSchemes {
    /// Schemes with shapes, e.g. `int4:... [384, 384]`.
    private var pairs: Set<String> = []

    /// None.
    init() {}

    /// Asks an exporter.
    /// - Parameters:
    ///   - exporter: one that lists what it lacks, as it does with fallbacks.
    ///   - export: returns the export of a model with these schemes.
    init(
        of exporter: any Exporter, _ weights: [PlannedWeight], _ export: ([PlannedWeight]) -> PlannedExport
    ) throws {
        for scheme in CompressionSolver.schemeNames {
            let codec = try Codecs.codec(scheme)
            let plan = weights.map { weight in
                let isFree = weight.choice.rule == nil && codec.reasonToKeep(weight.source) == nil
                return isFree ? weight.replacing(codec) : weight
            }
            let lacking = try exporter.check(export(plan))
            for weight in plan where lacking[weight.source.name] != nil && weight.choice.rule == nil {
                pairs.insert(Self.pair(codec, weight.source.shape))
            }
        }
    }

    private static func pair(_ codec: any WeightCodec, _ shape: Shape) -> String {
        "\(codec.dataFree.specification) \(shape)"
    }

    /// Whether a scheme is none of these; nil if there are none.
    var filter: SchemeFilter? {
        guard !pairs.isEmpty else { return nil }
        let pairs = pairs
        return { codec, shape in !pairs.contains(Self.pair(codec, shape)) }
    }

    /// For cache keys; empty if there are none.
    var text: String { pairs.isEmpty ? "" : " without " + pairs.sorted().joined(separator: ", ") }
}
