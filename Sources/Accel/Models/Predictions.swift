/// The outputs of a function for one set of inputs after the other, in order. Inputs are taken when outputs are asked for, and at most
/// `atOnce` runs are ahead of the one that is asked for.
public struct Predictions<Base: AsyncSequence>: AsyncSequence
where Base.Element == AccelFunction.Inputs, Base: Sendable {
    public typealias Element = Outputs
    let function: AccelFunction
    let inputs: Base
    let options: RunOptions
    let atOnce: Int

    /// Runs the inputs. Dropping it cancels the runs that are under way.
    public final class AsyncIterator: AsyncIteratorProtocol {
        private var inputs: Base.AsyncIterator?
        private let function: AccelFunction
        private let options: RunOptions
        private let atOnce: Int
        private var running: [Task<Outputs, any Error>] = []

        init(_ predictions: Predictions) {
            inputs = predictions.inputs.makeAsyncIterator()
            (function, options, atOnce) = (predictions.function, predictions.options, predictions.atOnce)
        }

        deinit { for task in running { task.cancel() } }

        /// The outputs for the next inputs; nil after the last ones.
        /// - Throws: `AccelError`, and the errors of the inputs. After an error there are no more outputs.
        public func next() async throws -> Outputs? {
            do {
                while running.count < atOnce, let next = try await inputs?.next() {
                    let (function, options) = (function, options)
                    running.append(Task { try await function.prediction(from: next, options: options) })
                }
                guard !running.isEmpty else {
                    inputs = nil
                    return nil
                }
                let first = running.removeFirst()
                return try await withTaskCancellationHandler {
                    try await first.value
                } onCancel: {
                    first.cancel()
                }
            } catch {
                for task in running { task.cancel() }
                (running, inputs) = ([], nil)
                throw error
            }
        }
    }

    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(self) }
}

extension AccelFunction {
    /// Runs one set of inputs after the other.
    /// - Parameters:
    ///   - atOnce: the most runs under way; nil for as many as the configuration's `concurrency` lets run, and one that waits.
    public func predictions<Base: AsyncSequence & Sendable>(
        from inputs: Base, options: RunOptions = RunOptions(), atOnce: Int? = nil
    ) -> Predictions<Base> where Base.Element == Inputs {
        Predictions(function: self, inputs: inputs, options: options, atOnce: max(atOnce ?? model.pool.most + 1, 1))
    }

    /// Runs one set of inputs after the other.
    public func predictions(
        from inputs: [Inputs], options: RunOptions = RunOptions(), atOnce: Int? = nil
    ) -> Predictions<AsyncStream<Inputs>> {
        let stream = AsyncStream { continuation in
            for inputs in inputs { continuation.yield(inputs) }
            continuation.finish()
        }
        return predictions(from: stream, options: options, atOnce: atOnce)
    }
}
