import AccelByteIO
import AccelPackages
import Foundation

/// Puts results into a cache and takes them out, for scripts/reliability to disturb. Every result is known from its seed, so
/// whoever takes it out can tell whether it is right.
///
///     put ROOT SEED COUNT [none|fsync|full]    stores the result of a seed: COUNT numbers
///     put-naively ROOT SEED COUNT              the same by a writer that must not be trusted: for control
///     check ROOT SEEDS COUNT                   takes out the results of seeds 0..<SEEDS, and reads all against digests
///     check-trusting ROOT SEEDS COUNT          the same by a reader that verifies nothing: for control
///     check-all FOLDER SEEDS COUNT             looks at many caches, without the digests: "name hits misses wrong" each;
///                                              check-all-trusting: by the other reader
///     work ROOT SEED SECONDS COUNT FOLDER      takes out, stores and cleans up at random
///
/// Prints "hits misses wrong damaged"; work: "hits made cleaned twice".
@main
enum CacheTool {
    static func main() throws {
        let words = CommandLine.arguments
        func number(_ index: Int) -> Int { words.indices.contains(index) ? Int(words[index]) ?? 0 : 0 }
        guard words.count > 4 else { exit(2) }
        switch words[1] {
        case "put":
            let durability = words.count > 5 ? CacheDurability(rawValue: words[5]) : nil
            let cache = Cache(root: words[2], durability: durability ?? .none, warn: warn)
            print(try SeededResult(number(3), count: number(4)).store(in: cache) ? "stored" : "not stored")
        case "put-naively":
            try SeededResult(number(3), count: number(4)).storeNaively(in: words[2])
        case "check", "check-trusting":
            var check = Check()
            let isTrusting = words[1] != "check"
            try check.look(at: words[2], seeds: number(3), count: number(4), isTrusting: isTrusting)
            if !isTrusting { check.damaged = try Cache(root: words[2]).check().count }
            print(check.hits, check.misses, check.wrong, check.damaged)
        case "check-all", "check-all-trusting":
            for name in try Files.list(words[2]) {
                var check = Check()
                try check.look(
                    at: "\(words[2])/\(name)", seeds: number(3), count: number(4), isTrusting: words[1] != "check-all")
                print(name, check.hits, check.misses, check.wrong)
            }
        case "work":
            var worker = Worker(words[2], seed: number(3), count: number(5), folder: words[6])
            try worker.run(seconds: number(4))
            print(worker.hits, worker.made, worker.cleaned, worker.twice)
        default: exit(2)
        }
    }

    private static func warn(_ warning: Diagnostic) { FileHandle.standardError.write(Data("\(warning)\n".utf8)) }
}

struct Check {
    var (hits, misses, wrong, damaged) = (0, 0, 0, 0)

    mutating func look(at root: String, seeds: Int, count: Int, isTrusting: Bool) throws {
        let cache = Cache(root: root)
        for seed in 0..<seeds {
            let result = try SeededResult(seed, count: count)
            switch try isTrusting ? result.foundBlindly(in: root) : result.found(in: cache) {
            case nil: misses += 1
            case true?: hits += 1
            case false?: wrong += 1
            }
        }
    }
}
