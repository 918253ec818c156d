import AccelByteIO
import AccelConversion

/// The summary of a finished shard of a conversion.
struct ShardSummary {
    private let made: ConvertedShard
    private let seconds: Double

    init(_ made: ConvertedShard, seconds: Double) { (self.made, self.seconds) = (made, seconds) }

    var text: String {
        let calibrated = made.calibrated.made + made.calibrated.found
        let common =
            calibrated == 0
            ? ""
            : "\n\(Wording.count(calibrated, "weight")) with calibration, by all shards together: "
                + "\(made.calibrated.made) made, \(made.calibrated.found) found in the cache"
        return "shard \(made.shard): \(Wording.grouped(made.ownJobs)) of \(Wording.count(made.jobs, "weight")), "
            + "\(Wording.bytes(made.ownBytes)) of \(Wording.bytes(made.bytes)); \(made.weights.made) made, "
            + "\(made.weights.found) found in the cache, \(Text.decimals(seconds, 2)) s\(common)"
    }

    var json: JSON {
        [
            "shard": .string("\(made.shard)"), "jobs": .int(made.ownJobs),
            "bytes": .int(made.ownBytes), "all_jobs": .int(made.jobs),
            "all_bytes": .int(made.bytes), "weights": made.weights.json,
            "calibrated": made.calibrated.json, "seconds": .seconds(seconds),
        ]
    }
}

extension WeightCounts {
    /// `received` counts those of `found` that a cache server has supplied to this run.
    var json: JSON {
        ["found": .int(found), "received": .int(received), "made": .int(made)]
    }
}
