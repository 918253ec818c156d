import CAccelKernels
import Foundation
import Testing

@Suite("Teams of threads")
struct TeamTests {
    /// What pieces of work do to memory that no two of them share.
    private final class Counts {
        let byPiece: UnsafeMutablePointer<Int>
        let byWorker: UnsafeMutablePointer<Int>
        let pieces: Int
        init(pieces: Int, workers: Int) {
            self.pieces = pieces
            byPiece = .allocate(capacity: pieces)
            byPiece.initialize(repeating: 0, count: pieces)
            byWorker = .allocate(capacity: workers)
            byWorker.initialize(repeating: 0, count: workers)
        }
        deinit {
            byPiece.deallocate()
            byWorker.deallocate()
        }

        func run(on team: OpaquePointer) {
            ck_team_run(
                team, pieces,
                { context, piece, worker in
                    guard let context else { return }
                    let counts = Unmanaged<Counts>.fromOpaque(context).takeUnretainedValue()
                    counts.byPiece[piece] += 1
                    counts.byWorker[worker] += 1
                }, Unmanaged.passUnretained(self).toOpaque())
        }
    }

    @Test("every piece is done once, in every call, by workers below the number of threads", arguments: [1, 2, 3, 8])
    func pieces(threads: Int) throws {
        let team = try #require(ck_team_make(threads))
        defer { ck_team_free(team) }
        for pieces in [0, 1, 2, 7, 100] {
            let counts = Counts(pieces: pieces, workers: threads)
            for _ in 0..<50 { counts.run(on: team) }
            ck_team_rest(team)
            #expect((0..<pieces).allSatisfy { counts.byPiece[$0] == 50 })
            #expect((0..<threads).reduce(0) { $0 + counts.byWorker[$1] } == 50 * pieces)
        }
    }

    @Test("helpers are woken once between two rests, and only for calls of several pieces")
    func wakes() throws {
        let team = try #require(ck_team_make(2))
        defer { ck_team_free(team) }
        let (single, several) = (Counts(pieces: 1, workers: 2), Counts(pieces: 5, workers: 2))
        for _ in 0..<10 { single.run(on: team) }
        ck_team_rest(team)
        #expect(ck_team_wakes(team) == 0)
        for round in 1...5 {
            for _ in 0..<10 { several.run(on: team) }
            ck_team_rest(team)
            #expect(ck_team_wakes(team) <= round)
        }
        #expect(ck_team_wakes(team) > 0)
    }

    @Test("teams on several threads at once share the pool, and each does all of its work")
    func severalTeams() async {
        await withTaskGroup(of: Bool.self) { group in
            for _ in 0..<6 {
                group.addTask {
                    guard let team = ck_team_make(3) else { return false }
                    defer { ck_team_free(team) }
                    let counts = Counts(pieces: 20, workers: 3)
                    for _ in 0..<200 {
                        counts.run(on: team)
                        counts.run(on: team)
                        ck_team_rest(team)
                    }
                    return (0..<20).allSatisfy { counts.byPiece[$0] == 400 }
                }
            }
            for await isRight in group { #expect(isRight) }
        }
    }
}
