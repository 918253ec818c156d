public import AccelPrograms
import AccelWeightCompression

extension ModelGraph {
    /// Decides for each function where its values lie, and orders its kernel calls. Takes time linear in the nodes, and in the
    /// pairs of values that are needed at the same time.
    /// - Throws: `RequestError` (unavailable) for a function whose values need more memory than a plan may have.
    public func planned() throws -> ModelPlan {
        let indices = Dictionary(tensors.enumerated().map { ($1.name, $0) }) { first, _ in first }
        let functions = try functions.map { function in
            var planner = FunctionPlanner(function)
            return try planner.planned(with: indices)
        }
        return ModelPlan(of: self, functions: functions)
    }

    /// The graph that a program was planned of.
    public init(of program: ModelPlan) { self.init(functions: program.graph, tensors: program.weights) }
}

extension CompressedProgram {
    /// The graph with execution plans.
    public func planned() throws -> ModelPlan { try graph().planned() }
}
