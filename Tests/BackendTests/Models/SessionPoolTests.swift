import AccelByteIO
import AccelTensors
import Testing

@testable import Accel

/// Whoever asks the pool for a session is answered once, whenever the request is cancelled: a task whose answer is lost never ends.
@Suite("Sessions that calls share")
struct SessionPoolTests {
    /// Its sessions run nothing.
    private struct Model: LoadedModel {
        let functions: [FunctionDescription] = []
        func makeSession() throws(AccelError) -> any ModelSession { Session() }
    }

    private final class Session: ModelSession {
        func run(
            _ function: String, _ inputs: [String: StoredTensor], outputs: Set<String>?,
            until cancellation: Cancellation?
        ) throws(AccelError) -> [String: StoredTensor] { [:] }
        func snapshot() throws(AccelError) -> [StoredTensor] { [] }
        func restore(_ snapshot: [StoredTensor]) throws(AccelError) {}
        func reset() {}
    }

    /// The answers to one request.
    private final class Answers: Sendable {
        private let answers = Locked([SessionPool.Lent]())

        func add(_ answer: SessionPool.Lent) { answers.withLock { $0.append(answer) } }
        var count: Int { answers.withLock { $0.count } }
        var session: PooledSession? { answers.withLock { try? $0.last?.get() } }
        var error: AccelError? {
            answers.withLock { answers in
                if case .failure(let error)? = answers.last { error } else { nil }
            }
        }
    }

    /// A pool of one session, which is lent.
    private func lent() throws -> (pool: SessionPool, session: PooledSession) {
        let pool = SessionPool(of: Model(), atMost: 1)
        let answers = Answers()
        pool.lend(until: Cancellation(), answers.add)
        return (pool, try #require(answers.session))
    }

    /// A cancellation that says yes from one question on.
    private func cancellation(atQuestion question: Int) -> Cancellation {
        let asked = Locked(0)
        return Cancellation(or: {
            asked.withLock { asked in
                asked += 1
                return asked >= question
            }
        })
    }

    @Test(
        "requests are answered once, at whichever question their cancellations begin to say yes",
        arguments: 1...4, 1...4)
    func changes(first: Int, second: Int) throws {
        let (pool, session) = try lent()
        let kept = [Answers(), Answers()]
        let ended = [Answers(), Answers()]
        pool.lend(until: Cancellation(), kept[0].add)
        pool.lend(until: cancellation(atQuestion: first), ended[0].add)
        pool.lend(until: cancellation(atQuestion: second), ended[1].add)
        pool.lend(until: Cancellation(), kept[1].add)
        for _ in 0..<4 { pool.wake() }
        #expect(ended.map(\.count) == [1, 1])
        #expect(ended.map(\.error?.code) == [.cancelled, .cancelled])
        #expect(kept.map(\.count) == [0, 0])
        // The others come in order.
        pool.giveBack(session)
        #expect(kept.map(\.count) == [1, 0])
        pool.giveBack(try #require(kept[0].session))
        #expect(kept.map(\.count) == [1, 1])
        #expect(kept[1].session === session)
    }

    @Test("a request that is cancelled while it is made does not wait for a session")
    func beginnings() throws {
        let (pool, _) = try lent()
        for _ in 0..<2000 {
            let (cancellation, answers) = (Cancellation(), Answers())
            let (isReady, hasEnded) = (Locked(false), Locked(false))
            let hasStarted = DetachedThread.start {
                isReady.withLock { $0 = true }
                cancellation.cancel()
                pool.wake()
                hasEnded.withLock { $0 = true }
            }
            try #require(hasStarted)
            while !isReady.withLock({ $0 }) {}
            pool.lend(until: cancellation, answers.add)
            while !hasEnded.withLock({ $0 }) {}
            try #require(answers.count == 1)
        }
    }
}
