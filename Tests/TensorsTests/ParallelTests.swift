import AccelByteIO
import Foundation
import Synchronization
import Testing

@testable import AccelTensors

@Suite("work on several threads")
struct ParallelTests {
    private struct Failure: Error, Equatable { let index: Int }

    @Test("every index is done once, results in order", arguments: [0, 1, 2, 3, 8, 100], [0, 1, 2, 7, 64])
    func map(count: Int, threads: Int) throws {
        let calls = Atomic<Int>(0)
        let results = try Parallel.map(count, threads: threads) { index in
            calls.add(1, ordering: .relaxed)
            return index * index
        }
        #expect(results == (0..<count).map { $0 * $0 })
        #expect(calls.load(ordering: .relaxed) == count)
    }

    @Test("the error of the lowest failing index is thrown", arguments: [1, 2, 8])
    func errors(threads: Int) {
        for _ in 0..<50 {
            let error = #expect(throws: Failure.self) {
                try Parallel.forEach(200, threads: threads) { index in
                    if index >= 37 && index % 3 == 1 { throw Failure(index: index) }
                }
            }
            #expect(error == Failure(index: 37))
        }
    }

    @Test("each index is reported once, on the calling thread, when it is done", arguments: [0, 1, 2, 40], [1, 2, 7])
    func reports(count: Int, threads: Int) throws {
        let caller = Thread.current
        let done = Locked<Set<Int>>([])
        var reported: [Int] = []
        let results = try Parallel.map(
            count, threads: threads,
            reporting: { index in
                #expect(Thread.current === caller && done.withLock { $0.contains(index) })
                reported.append(index)
            }
        ) { index in
            done.withLock { _ = $0.insert(index) }
            return index * index
        }
        #expect(results == (0..<count).map { $0 * $0 })
        #expect(reported.sorted() == Array(0..<count))
    }

    @Test("an index is reported while others are at work")
    func progress() throws {
        let isReported = DispatchSemaphore(value: 0)
        let waited = try Parallel.map(2, threads: 2, reporting: { if $0 == 1 { isReported.signal() } }) { index in
            index == 1 || isReported.wait(timeout: .now() + 60) == .success
        }
        #expect(waited == [true, true])
    }

    @Test("errors of the work and of the reports are thrown", arguments: [1, 2, 8])
    func reportErrors(threads: Int) {
        let error = #expect(throws: Failure.self) {
            try Parallel.map(200, threads: threads, reporting: { _ in }) { index in
                if index >= 37 && index % 3 == 1 { throw Failure(index: index) }
                return index
            }
        }
        #expect(error == Failure(index: 37))
        #expect(throws: Failure.self) {
            try Parallel.map(200, threads: threads, reporting: { throw Failure(index: $0) }) { $0 }
        }
    }

    @Test("calls nest")
    func nesting() throws {
        let sums = try Parallel.map(20, threads: 4) { outer in
            try Parallel.map(20, threads: 4) { inner in
                try Parallel.map(5, threads: 3) { $0 + outer * inner }.reduce(0, +)
            }.reduce(0, +)
        }
        #expect(sums == (0..<20).map { outer in (0..<20).reduce(0) { $0 + 10 + 5 * outer * $1 } })
    }

    @Test("calls come from many tasks at once")
    func tasks() async throws {
        try await withThrowingTaskGroup(of: Int.self) { group in
            for task in 0..<32 {
                group.addTask { try Parallel.map(100, threads: 4) { $0 + task }.reduce(0, +) }
            }
            var total = 0
            for try await sum in group { total += sum }
            #expect(total == (0..<32).reduce(0) { $0 + 4950 + 100 * $1 })
        }
    }

    @Test("no more threads work than were asked for")
    func limit() throws {
        let now = Atomic<Int>(0)
        let most = Locked<Int>(0)
        try Parallel.forEach(300, threads: 3) { _ in
            let working = now.add(1, ordering: .relaxed).newValue
            most.withLock { $0 = max($0, working) }
            now.subtract(1, ordering: .relaxed)
        }
        #expect(most.withLock { $0 } <= 3)
    }
}
