import AccelByteIO
import AccelPackages

/// The output of `cache gc`.
struct CleanUpSummary {
    let report: Cache.CleanUp
    /// The most bytes that were to stay.
    let limit: Int
    /// The bytes that were to be free on the disk, and those that are; nil if that is not known.
    let free: (wanted: Int, found: Int?)
    /// The bytes of damaged files in quarantine.
    let quarantined: Int
    /// The age below which files stay, as it was given.
    let age: String

    /// The numbers and sizes of removed and kept results, and the reasons why more stays than was requested.
    var text: String {
        var lines = [
            "removed \(results(report.removedRecords)), \(Wording.bytes(report.freedBytes)); "
                + "kept \(results(report.keptRecords)), \(Wording.bytes(report.keptBytes))"
        ]
        if isOverLimit {
            var reasons: [String] = []
            if report.youngRecords > 0 {
                reasons.append(
                    "\(results(report.youngRecords)), \(Wording.bytes(report.youngRecordBytes)), younger than \(age), which --min-age 0s "
                        + "would not keep")
            }
            if report.leasedRecords > 0 { reasons.append("\(results(report.leasedRecords)) in use") }
            lines.append("more than \(Wording.bytes(limit)): \(reasons.joined(separator: "; "))")
        }
        if report.youngBlobs > 0 {
            lines.append(
                "\(Wording.count(report.youngBlobs, "file")), \(Wording.bytes(report.youngBytes)), too young to remove: no result names "
                    + "them, but one may within \(age) of their making")
        }
        if let found = free.found, found < free.wanted {
            lines.append(
                "\(Wording.bytes(found)) are free on the disk, less than the \(Wording.bytes(free.wanted)) of --min-free"
            )
        }
        if quarantined > 0 { lines.append(Self.quarantine(quarantined)) }
        return lines.joined(separator: "\n")
    }

    /// A line on damaged files, which no size counts.
    static func quarantine(_ bytes: Int) -> String {
        "\(Wording.bytes(bytes)) of damaged files in quarantine, not counted: they are removed after a week, or by cache clear"
    }

    private var isOverLimit: Bool { report.keptBytes > limit && report.youngRecords + report.leasedRecords > 0 }

    private func results(_ count: Int) -> String { Wording.count(count, "result") }

    /// The numbers of `text`.
    var json: JSON {
        [
            "removed_records": .int(report.removedRecords), "removed_blobs": .int(report.removedBlobs),
            "freed_bytes": .int(report.freedBytes), "kept_records": .int(report.keptRecords),
            "kept_bytes": .int(report.keptBytes), "limit_bytes": .int(limit),
            "within_limit": .bool(report.keptBytes <= limit), "leased_records": .int(report.leasedRecords),
            "young_records": .int(report.youngRecords), "young_record_bytes": .int(report.youngRecordBytes),
            "free_bytes": .int(free.found), "quarantined_bytes": .int(quarantined),
            "young_blobs": .int(report.youngBlobs), "young_bytes": .int(report.youngBytes),
        ]
    }
}
