public import Accel
import AccelByteIO
import AccelPrograms
import AccelTensors
import Foundation

/// What holds for every backend, checked over packages. It needs no test framework:
///
///     let report = await BackendConformance(cases).check(MyBackend())
///     for violation in report.violations { print(violation) }
public struct BackendConformance: Sendable {
    public let cases: [ConformanceCase]
    /// Of each run.
    public let threads: Int

    public init(_ cases: [ConformanceCase], threads: Int = 2) { (self.cases, self.threads) = (cases, threads) }

    /// Checks all cases that the backend says are suitable.
    public func check(_ backend: any Backend) async -> ConformanceReport {
        var report = ConformanceReport(backend.id)
        for subject in cases {
            do {
                let request = try BackendRequest(opening: subject.path, threads: threads)
                try await check(backend, subject, request, &report)
            } catch {
                report.check(.assessment, false, "\(subject.name): \(error)")
            }
        }
        return report
    }

    private func check(
        _ backend: any Backend, _ subject: ConformanceCase, _ request: BackendRequest,
        _ report: inout ConformanceReport
    ) async throws {
        checkIntegrity(of: subject, &report)
        var narrow = request
        narrow.memoryLimit = 1
        // A function that only looks at its inputs in another way has no values.
        if await isSuitable(backend, narrow, subject, &report) { _ = try await backend.load(narrow) { _ in } }
        guard await isSuitable(backend, request, subject, &report) else { return }
        let events = Locked<[LoadingEvent]>([])
        let model = try await backend.load(request) { event in events.withLock { $0.append(event) } }
        let seen = events.withLock { $0 }
        report.check(
            .progress, seen.last == .ready, "\(subject.name): ends with \(seen.last?.kind.rawValue ?? "nothing")")
        report.check(
            .progress, zip(seen, seen.dropFirst()).allSatisfy { $0.fraction <= $1.fraction },
            "\(subject.name): the fractions \(seen.map(\.fraction)) go down")
        report.check(
            .functions, model.functions == subject.functions, "\(subject.name): has \(model.functions.map(\.name))")
        let run = Set(subject.sequences.flatMap { $0.map(\.function) })
        report.check(
            .functions, run == Set(subject.functions.map(\.name)), "\(subject.name): the case runs \(run.sorted()) only"
        )
        for sequence in subject.sequences {
            var check = SequenceCheck(model: model, subject: subject, sequence: sequence, report: report)
            try check.run()
            report = check.report
        }
    }

    /// What is assessed as suitable loads; what is not does not, and the reason is told.
    private func isSuitable(
        _ backend: any Backend, _ request: BackendRequest, _ subject: ConformanceCase, _ report: inout ConformanceReport
    ) async -> Bool {
        let assessment = await backend.assess(request)
        var failure: AccelError?
        do throws(AccelError) { _ = try await backend.load(request) { _ in } } catch let error { failure = error }
        let limit = request.memoryLimit.map { " with \($0) byte" } ?? ""
        if case .unsuitable(let reason) = assessment {
            report.check(.assessment, !reason.isEmpty, "\(subject.name)\(limit): unsuitable without a reason")
            report.check(
                .assessment, failure.map { [.unsupported, .memory].contains($0.code) } ?? false,
                "\(subject.name)\(limit): is said to be unsuitable; loading it: \(failure?.description ?? "worked")")
            return false
        }
        report.check(
            .assessment, failure == nil,
            "\(subject.name)\(limit): is said to be suitable; \(failure?.description ?? "")")
        return failure == nil
    }

    /// A copy of the package with one byte changed is rejected where it is opened.
    private func checkIntegrity(of subject: ConformanceCase, _ report: inout ConformanceReport) {
        let folder = FileManager.default.temporaryDirectory.appending(path: "conformance-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        do {
            try FileManager.default.copyItem(at: URL(filePath: subject.path), to: folder)
            let names = try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
            guard let name = names.last(where: { $0.hasSuffix(".bin") }) else { return }
            let file = folder.appending(path: name)
            var bytes = try Data(contentsOf: file)
            bytes[bytes.count / 2] ^= 1
            try bytes.write(to: file)
            var code: AccelError.Code?
            do throws(AccelError) { _ = try BackendRequest(opening: folder.path) } catch let error { code = error.code }
            report.check(.integrity, code == .corrupt, "\(subject.name): a changed byte of \(name) is not found")
        } catch {
            report.check(.integrity, false, "\(subject.name): \(error)")
        }
    }
}
