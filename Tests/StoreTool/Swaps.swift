import Accel
import AccelByteIO
import Synchronization
import TestSupport

/// Tasks that run a model without a pause, while its versions change.
struct Swaps {
    private let store: ModelStore
    private let folder: String
    private let count: Int
    private(set) var (answers, failed, mixed, changes, alive) = (0, 0, 0, 0, 0)

    init(store: ModelStore, folder: String, count: Int) {
        (self.store, self.folder, self.count) = (store, folder, count)
    }

    private struct Tally {
        var (answers, failed, mixed) = (0, 0, 0)
    }

    mutating func run(tasks: Int, changes: Int) async throws {
        _ = try await store.update("model", from: LocalPackage("\(folder)/1.accelpkg")).value
        let live = try await store.live("model")
        let function = try live.function("model")
        let (store, folder, count) = (store, folder, count)
        let isOver = Locked(false)
        var models: [Weak] = []
        let tally = try await withThrowingTaskGroup(of: Tally.self) { group in
            for _ in 0..<tasks {
                group.addTask {
                    var tally = Tally()
                    while !isOver.withLock({ $0 }) {
                        do {
                            let outputs = try await function(["x": AccelTensor(NumberedModel.ones)])
                            let number = NumberedModel.number(
                                of: try outputs["first"].array(of: Float.self),
                                try outputs["second"].array(of: Float.self))
                            tally.answers += 1
                            if number.map({ !(1...count).contains($0) }) ?? true { tally.mixed += 1 }
                        } catch {
                            tally.failed += 1
                        }
                    }
                    return tally
                }
            }
            defer { isOver.withLock { $0 = true } }
            for change in 0..<changes {
                models.append(Weak(live.model))
                // Every fourth change goes back.
                if change % 4 == 3, try await !store.model("model").earlier.isEmpty {
                    _ = try await store.rollBack("model")
                } else {
                    let next = 1 + (change + 1) % count
                    _ = try await store.update("model", from: LocalPackage("\(folder)/\(next).accelpkg")).value
                }
            }
            isOver.withLock { $0 = true }
            var sum = Tally()
            for try await tally in group {
                sum.answers += tally.answers
                sum.failed += tally.failed
                sum.mixed += tally.mixed
            }
            return sum
        }
        (answers, failed, mixed, self.changes) = (tally.answers, tally.failed, tally.mixed, changes)
        // A thread may still hold the last model that it ran, after its answer: for as long as it takes to let go of it.
        let end = ContinuousClock.now + .seconds(10)
        repeat {
            alive = models.count { $0.model != nil && $0.model !== live.model }
            if alive > 0 { try await Task.sleep(for: .milliseconds(1)) }
        } while alive > 0 && .now < end
    }

    private final class Weak: Sendable {
        weak let model: AccelModel?
        init(_ model: AccelModel) { self.model = model }
    }
}
