public import AccelByteIO
import AccelPackages
import AccelPrograms

extension ModelStore {
    /// Updates a model, or adds one: receives a package, compares its bytes with their digests, asks for its signature, checks it, and
    /// makes it the current version in one step. Until then, and if anything fails, the version before stays.
    ///
    /// The new version is tentative until one of its runs succeeds. One update of a model runs at a time.
    /// - Parameters:
    ///   - functions: the functions that the app uses, as in `AccelModel.function`; nil for all that the current version has. The new
    ///     version has to serve these, and those that handles of `live` were asked for, with the same inputs and outputs.
    ///   - checks: what the new version has to pass besides.
    ///   - allowsRollback: accepts a package that is signed with a lower version than the current one, or without a version although
    ///     the current one has one. A package that is signed for another model is rejected all the same.
    /// - Returns: work whose `value` is the model. It fails with `AccelError`: (corrupt), (untrusted), (incompatible) for the
    ///   functions, (memory) and (storage) for the limits, (numerics), (busy), and with the errors of the fetcher.
    public nonisolated func update(
        _ name: String, from fetcher: any PackageFetcher, functions: [String]? = nil,
        checks: [any UpdateCheck] = UpdateChecks.all, allowsRollback: Bool = false
    ) -> Work<StoredModel, UpdateEvent> {
        Work(awaiting: { emit, _ in
            try await self.updating(name, from: fetcher, functions, checks, allowsRollback: allowsRollback, emit)
        })
    }

    /// `update` in the caller's task, and so where that runs.
    package nonisolated func updating(
        _ name: String, from fetcher: any PackageFetcher, _ functions: [String]? = nil,
        _ checks: [any UpdateCheck] = UpdateChecks.all, allowsRollback: Bool,
        _ emit: @escaping @Sendable (UpdateEvent) -> Void
    ) async throws(AccelError) -> StoredModel {
        do {
            return try await updated(name, fetcher, functions, checks, allowsRollback, emit)
        } catch {
            if (try? folder.record(of: name)) == nil { folder.removeFolder(of: name) }
            throw AccelError(stored: error, at: "model \"\(name)\"")
        }
    }

    private nonisolated func updated(
        _ name: String, _ fetcher: any PackageFetcher, _ functions: [String]?, _ checks: [any UpdateCheck],
        _ allowsRollback: Bool, _ emit: @escaping @Sendable (UpdateEvent) -> Void
    ) async throws -> StoredModel {
        guard let lock = try await DetachedThread.value(of: { try self.folder.beginUpdate(of: name) }) else {
            throw AccelError.updating(name)
        }
        defer { withExtendedLifetime(lock) {} }
        folder.removeLeftovers(of: name)
        do {
            let received = try await receive(name, fetcher, allowsRollback, emit)
            let candidate = try await candidate(received, of: name, functions)
            for check in checks {
                try Task.checkCancellation()
                emit(UpdateEvent(.checking, check.name))
                do { try await check.check(candidate) } catch { throw AccelError(error, at: check.name) }
            }
            let model = try await candidate.model()
            try Task.checkCancellation()
            let stored = try await commit(candidate, model, received)
            emit(
                UpdateEvent(
                    candidate.current?.digest == candidate.package.digest ? .unchanged : .updated, "\(stored.version)"))
            return stored
        } catch {
            // The version is in the store, but no record names it.
            try? folder.guarding(name) { try folder.sweep(name) }
            throw error
        }
    }

    private struct Received {
        let package: AcceleratorPackage
        let lease: CacheLease
        /// The release that its signature states; nil if no signature is asked for.
        let release: SignedRelease?
    }

    /// Fetches a package, and publishes it in the store once its bytes and its signature are verified.
    private nonisolated func receive(
        _ name: String, _ fetcher: any PackageFetcher, _ allowsRollback: Bool,
        _ emit: @escaping @Sendable (UpdateEvent) -> Void
    ) async throws -> Received {
        let fetched = try folder.fetchedFolder(of: name)
        defer { withExtendedLifetime(fetched) {} }
        let place = fetched.path
        let source = try await fetch(into: place, fetcher, emit)
        return try await DetachedThread.value(of: {
            guard Files.kind(of: source) != nil else { throw AccelError(.notFound, "there is no package", at: source) }
            let (version, path) = try self.folder.receive(source, fetchedInto: place, of: name)
            emit(UpdateEvent(.checking, "digests"))
            let package = try AcceleratorPackage(at: path)
            try package.check()
            if case .signed = self.trust { emit(UpdateEvent(.checking, "signature")) }
            let release = try self.trust.check(package)
            try release?.check(for: name, after: try self.folder.record(of: name), allowsRollback, at: package.path)
            try self.checkLimit(adding: try package.byteCount, to: name)
            // Before the version is published, so that nobody takes it for one that was dropped.
            let lease = try self.folder.lease(package.digest)
            let published = try self.folder.publish(version, as: package.digest, of: name)
            return Received(package: try AcceleratorPackage(at: published), lease: lease, release: release)
        })
    }

    private nonisolated func fetch(
        into path: String, _ fetcher: any PackageFetcher, _ emit: @escaping @Sendable (UpdateEvent) -> Void
    ) async throws -> String {
        let most = profile.packageBytes
        let excess = Locked<Int?>(nil)
        let (tooMuch, exceeded) = AsyncStream.makeStream(of: Void.self)
        // Tasks of a group run where their caller's does, so that a caller who waits in one thread needs no other.
        let result = await withTaskGroup(of: Result<String, any Error>?.self) { group in
            group.addTask {
                do {
                    return .success(
                        try await fetcher.fetch(into: path) { done, total in
                            emit(UpdateEvent(.fetching, done: done, total: total))
                            guard let most, max(done, total ?? 0) > most else { return }
                            excess.withLock { $0 = max(done, total ?? 0) }
                            exceeded.yield()
                        })
                } catch {
                    return .failure(error)
                }
            }
            group.addTask {
                for await _ in tooMuch { break }
                return nil
            }
            var result: Result<String, any Error>?
            // The first to end ends the other: bytes beyond the limit the fetching, and the fetching the wait for them.
            for await ended in group {
                result = ended ?? result
                group.cancelAll()
            }
            return result
        }
        if let bytes = excess.withLock({ $0 }), let most {
            let excess = DeviceProfile.Excess(.package, needed: bytes, limit: most, of: profile.name)
            throw AccelError(.storage, "\(excess)", at: "the fetched package")
        }
        try Task.checkCancellation()
        guard let result else { throw CancellationError() }
        return try result.get()
    }

    /// The functions that a new version has to serve, and the version as checks see it.
    private func candidate(
        _ received: Received, of name: String, _ functions: [String]?
    ) throws -> UpdateCandidate {
        var current: AcceleratorPackage?
        if let record = try folder.record(of: name) {
            // A current version that cannot be read asks for nothing, so that an update can mend it.
            current = try? AcceleratorPackage(at: folder.packagePath(of: record.current, name))
        }
        let descriptions = (current ?? received.package).graph.functions.map(FunctionDescription.init)
        var needed = current == nil ? [] : descriptions
        if let functions { needed = try functions.map { try descriptions.function($0, shape: nil) } }
        for asked in liveModels(name).flatMap(\.asked) where !needed.contains(asked) { needed.append(asked) }
        return UpdateCandidate(
            name: name, package: received.package, current: current, functions: needed, profile: profile
        ) { [self] () async throws(AccelError) in try await open(received.package.digest, of: name) }
    }

    /// - Throws: `AccelError` (storage) if the store would take more bytes than its limit.
    private nonisolated func checkLimit(adding bytes: Int, to name: String) throws {
        guard let limit else { return }
        let others = try folder.names().flatMap { other -> [Int] in
            guard let record = try folder.record(of: other) else { return [] }
            let kept = other == name ? [record.versionBefore] : record.versions
            return kept.map { folder.byteCount(of: $0, other) }
        }
        let needed = MachineMemory.sum(others + [bytes])
        guard needed > limit else { return }
        throw AccelError(
            .storage, "the store would take \(needed) bytes; its limit is \(limit)", at: "model \"\(name)\"",
            hint: "remove a model")
    }

    /// Makes a checked version the current one.
    private func commit(
        _ candidate: UpdateCandidate, _ model: AccelModel, _ received: Received
    ) throws -> StoredModel {
        let (name, version) = (candidate.name, candidate.package.digest)
        for live in liveModels(name) {
            try live.prepare(for: candidate.package.graph.functions.map(FunctionDescription.init))
        }
        defer { for live in liveModels(name) { live.endChange() } }
        let isNew = try folder.guarding(name) {
            let record = try folder.record(of: name)
            if var record, record.current == version {
                // Signed again, for another version.
                if let release = received.release, record.releases[version] != release {
                    record.releases[version] = release
                    try folder.write(record)
                }
                return false
            }
            // This one step is the update.
            var next = StoreRecord(
                name: name, current: version,
                earlier: record.map { [$0.versionBefore].filter { $0 != version } } ?? [],
                releases: record?.releases ?? [:])
            next.releases[version] = received.release
            try folder.write(next)
            try folder.sweep(name)
            return true
        }
        if isNew { try replace(name, by: model, received.lease) }
        return try self.model(name)
    }
}

extension StoreRecord {
    /// The version to go back to from the next one: the last that is known to run.
    var versionBefore: Digest { standing == .proven ? current : earlier.first ?? current }
}

extension SignedRelease {
    /// Checks that a package may follow the current version of a model.
    /// - Throws: `AccelError` (untrusted) if it is signed for another model; or for a lower version than the current one, or no
    ///   version where the current one has one, unless `allowsRollback`.
    func check(
        for model: String, after record: StoreRecord?, _ allowsRollback: Bool, at path: String
    ) throws(AccelError) {
        if let name, name != model {
            throw AccelError(.untrusted, expected: "a signature for \(quoted(model))", found: words, at: path)
        }
        guard !allowsRollback, let record, let current = record.releases[record.current], current.name != nil else {
            return
        }
        guard name == nil || (version ?? 0) < (current.version ?? 0) else { return }
        let least = current.version.map { "version \($0) or a later one" } ?? current.words
        throw AccelError(
            .untrusted, expected: "a signature for \(least)", found: version.map { "version \($0)" } ?? words, at: path)
    }
}

extension Trust {
    /// - Returns: what the signature states; nil if none is asked for.
    /// - Throws: `AccelError` (untrusted) with the verifier's reason.
    @discardableResult
    func check(_ package: AcceleratorPackage) throws(AccelError) -> SignedRelease? {
        guard case .signed(let verifier) = self else { return nil }
        do { return try verifier.verifiedRelease(of: package) } catch {
            throw AccelError(.untrusted, "\(error)", at: package.path)
        }
    }
}
