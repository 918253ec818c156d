"""Makes two fixtures of the sentence encoders:

- Tests/Fixtures/pooling.safetensors: what sentence-transformers' Pooling makes of some hidden states, for each of its modes;
  the masks have padding at the end, at the start, within, and (but for `max`, where that is -infinity) everywhere.
- Tests/Fixtures/masked_rows.safetensors: what transformers makes of the checkpoint bert_base where a row is masked everywhere.

Wants sentence-transformers, transformers, torch, safetensors.
"""

import copy
import pathlib

import safetensors.torch
import torch
import transformers
from sentence_transformers.sentence_transformer.modules.pooling import Pooling

FIXTURES = pathlib.Path(__file__).resolve().parent.parent / "Tests" / "Fixtures"
torch.set_num_threads(1)

generator = torch.Generator().manual_seed(7)
hidden = torch.randn(5, 6, 8, generator=generator)
mask = torch.tensor([[1, 1, 1, 1, 1, 1], [1, 1, 1, 0, 0, 0], [0, 0, 1, 1, 1, 1], [0, 1, 0, 1, 1, 0], [0, 0, 0, 0, 0, 0]])
tensors = {"hidden": hidden, "mask": mask}
for mode in Pooling.POOLING_MODES + (("cls", "mean"),):
    features = {"token_embeddings": hidden.double(), "attention_mask": mask}
    name = mode if isinstance(mode, str) else "+".join(mode)
    pooled = Pooling(8, pooling_mode=mode)(features)["sentence_embedding"].float()
    tensors[name] = (pooled[:4] if mode == "max" else pooled).contiguous()
safetensors.torch.save_file(tensors, FIXTURES / "pooling.safetensors")

model = transformers.BertModel.from_pretrained(FIXTURES / "bert_base").eval()
inputs = {
    "input_ids": torch.tensor([[5, 9, 2, 7], [3, 4, 5, 6]]),
    "attention_mask": torch.tensor([[1, 1, 0, 0], [0, 0, 0, 0]]),
    "token_type_ids": torch.tensor([[0, 0, 1, 1], [0, 1, 1, 1]]),
}
with torch.no_grad():
    wide = copy.deepcopy(model).double()(**inputs)
tensors = {f"in.{name}": tensor for name, tensor in inputs.items()}
tensors |= {f"ref64.{name}": wide[name].contiguous() for name in ("last_hidden_state", "pooler_output")}
safetensors.torch.save_file(tensors, FIXTURES / "masked_rows.safetensors")
