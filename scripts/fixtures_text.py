"""Makes Tests/Fixtures/text/*: tiny seeded models with tokenizers, each with what transformers makes of texts (texts.json).

usage: fixtures_text.py [NAME...]       (default: all; wants torch, transformers, tokenizers, safetensors)
The tokenizers are trained on the sentences below.
"""

import json
import pathlib
import shutil
import sys
import zlib

import tokenizers
import torch
import transformers

FIXTURES = pathlib.Path(__file__).resolve().parent.parent / "Tests" / "Fixtures" / "text"

SENTENCES = """The sky is blue because air scatters short waves of light more than long ones.
A model is converted once, checked, and kept in a cache; later runs find it there.
Weights are numbers, and a codec stores each of them in a few bits.
She sold 1,024 apples for 3.50 each, and 17 pears for less.
Der schnelle braune Fuchs springt über den faulen Hund.
Où est la bibliothèque ? Elle est à côté de la gare, près du café.
今日は天気がいいですね。散歩に行きましょう。
Быстрая лиса прыгает через ленивую собаку.
def answer(question): return [word for word in question.split() if word]
Paris is the capital of France, and Berlin is the capital of Germany.
Anna and Bob live in London; they work for a small company.
This film is wonderful, and that book is terrible.
What is the meaning of life? Nobody knows, but many have asked.
Emoji are tokens, too: 🙂 🚀 👩‍🔬.""".split("\n")

PROMPTS = [
    "The sky is", "Why is the sky blue?", "Paris is the capital of", "今日は", "def answer", "Weights are numbers, and", " ",
    "Où est 🙂", "a" * 40, "She sold 1,024 apples\n\nfor 3.50 each",
]
CHATS = [
    [("user", "Why is the sky blue?")],
    [("system", "Answer in one word."), ("user", "Où est la gare ?")],
    [("user", "Hello"), ("assistant", "Hello! What is your question?"), ("user", "Who are Anna and Bob?")],
]
TEXTS = [
    "The sky is blue.", "Anna and Bob live in London.", "This film is wonderful, and that book is terrible.", "Où est la gare ?",
    "Nobody knows.", "apples " * 30,
]
PAIRS = [("Where do they live?", "Anna and Bob live in London."), ("Where do they live?", "The sky is blue.")]
MASKED = ["The [MASK] is blue.", "Paris is the [MASK] of [MASK]."]

TEMPLATE = (
    "{% for message in messages %}{% if loop.first and message['role'] != 'system' %}"
    "<|start|>system\nYou are a small model.<|end|>\n{% endif %}"
    "<|start|>{{ message['role'] }}\n{{ message['content'] }}<|end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|start|>assistant\n{% endif %}"
)


def seed(name):
    torch.manual_seed(zlib.crc32(name.encode()))


def spread(model):
    """Larger weights than the usual ones, so that logits differ and texts do not repeat one token."""
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if weight.ndim == 2:
                weight.mul_(12 if "embed" in name else 6)
    return model.eval()


def byte_pairs():
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE())
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = tokenizers.decoders.ByteLevel()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=420, special_tokens=["<|begin|>", "<|start|>", "<|end|>"],
        initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet(), show_progress=False)
    tokenizer.train_from_iterator(SENTENCES, trainer)
    tokenizer.post_processor = tokenizers.processors.TemplateProcessing(
        single="<|begin|> $A", pair="<|begin|> $A $B", special_tokens=[("<|begin|>", 0)])
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token="<|begin|>", eos_token="<|end|>", chat_template=TEMPLATE)


def word_pieces():
    tokenizer = tokenizers.BertWordPieceTokenizer(lowercase=True)
    tokenizer.train_from_iterator(SENTENCES, vocab_size=220, limit_alphabet=90, show_progress=False)
    special = {"[CLS]": tokenizer.token_to_id("[CLS]"), "[SEP]": tokenizer.token_to_id("[SEP]")}
    tokenizer._tokenizer.post_processor = tokenizers.processors.BertProcessing(
        ("[SEP]", special["[SEP]"]), ("[CLS]", special["[CLS]"]))
    return transformers.BertTokenizerFast(tokenizer_object=tokenizer._tokenizer, model_max_length=48)


def decoder(folder, name):
    tokenizer = byte_pairs()
    seed(name)
    config = transformers.LlamaConfig(
        hidden_size=32, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, intermediate_size=48,
        vocab_size=len(tokenizer), max_position_embeddings=256, bos_token_id=0, eos_token_id=2, tie_word_embeddings=False)
    model = spread(transformers.LlamaForCausalLM(config))
    model.generation_config = transformers.GenerationConfig(
        bos_token_id=0, eos_token_id=2, do_sample=True, temperature=0.7, top_k=20, top_p=0.9, repetition_penalty=1.2)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)

    def generate(ids, **options):
        ids = torch.tensor([ids])
        with torch.no_grad():
            made = model.generate(
                ids, attention_mask=torch.ones_like(ids), do_sample=False, temperature=None, top_p=None, top_k=None,
                max_new_tokens=64, pad_token_id=2, **options)
        new = made[0, ids.shape[1]:].tolist()
        return tokenizer.decode(new, skip_special_tokens=True, clean_up_tokenization_spaces=False)

    texts = []
    for prompt in PROMPTS:
        ids = tokenizer(prompt)["input_ids"]
        texts.append(dict(
            prompt=prompt, text=generate(ids, repetition_penalty=1.0), penalised=generate(ids, repetition_penalty=1.2)))
    chats = []
    for chat in CHATS:
        messages = [dict(role=role, content=content) for role, content in chat]
        ids = tokenizer.apply_chat_template(messages, add_generation_prompt=True, return_dict=False)
        chats.append(dict(messages=messages, text=generate(ids, repetition_penalty=1.0)))
    return dict(prompts=texts, chats=chats, perplexity=perplexity(model, tokenizer))


def perplexity(model, tokenizer, context=32):
    """By the protocol of llama.cpp's perplexity tool: chunks, each behind the first token, of which the second half counts."""
    text = "\n".join(SENTENCES)
    ids = tokenizer(text)["input_ids"]
    losses = []
    for start in range(0, len(ids) - context + 1, context):
        chunk = ids[start:start + context]
        chunk[0] = tokenizer.bos_token_id
        with torch.no_grad():
            logs = model(torch.tensor([chunk])).logits[0].double().log_softmax(-1)
        losses += [-float(logs[i, chunk[i + 1]]) for i in range(context // 2, context - 1)]
    return dict(text=text, context=context, value=float(torch.tensor(losses).double().mean().exp()))


def encoder(kind, **config):
    def make(folder, name):
        tokenizer = word_pieces()
        seed(name)
        model = spread(kind(transformers.BertConfig(
            hidden_size=24, num_hidden_layers=2, num_attention_heads=4, intermediate_size=40, vocab_size=len(tokenizer),
            max_position_embeddings=48, type_vocab_size=2, pad_token_id=tokenizer.pad_token_id, **config)))
        model.save_pretrained(folder)
        tokenizer.save_pretrained(folder)

        def run(*texts):
            ids = tokenizer(*texts, return_tensors="pt", truncation=True)
            with torch.no_grad():
                return ids, model(**ids)

        labels = model.config.id2label
        if kind is transformers.BertModel:
            vectors = []
            for text in TEXTS:
                hidden = run(text)[1].last_hidden_state[0].mean(0)
                vectors.append((hidden / hidden.norm()).tolist())
            (folder / "1_Pooling").mkdir()
            (folder / "1_Pooling/config.json").write_text(json.dumps(dict(
                word_embedding_dimension=24, pooling_mode_cls_token=False, pooling_mode_mean_tokens=True)))
            (folder / "modules.json").write_text(json.dumps([
                dict(idx=0, name="0", path="", type="sentence_transformers.models.Transformer"),
                dict(idx=1, name="1", path="1_Pooling", type="sentence_transformers.models.Pooling"),
                dict(idx=2, name="2", path="2_Normalize", type="sentence_transformers.models.Normalize")]))
            (folder / "sentence_bert_config.json").write_text(json.dumps(dict(max_seq_length=32, do_lower_case=False)))
            # sentence-transformers takes the limit of 32 from the file just written.
            tokenizer.model_max_length = 32
            hidden = run(TEXTS[-1])[1].last_hidden_state[0].mean(0)
            vectors[-1] = (hidden / hidden.norm()).tolist()
            return dict(texts=TEXTS, vectors=vectors)
        if kind is transformers.BertForMaskedLM:
            masks = []
            for text in MASKED:
                ids, out = run(text)
                rows = out.logits[0, ids["input_ids"][0] == tokenizer.mask_token_id].softmax(-1)
                masks.append([[dict(token=tokenizer.decode([i]), score=p) for p, i in zip(*map(torch.Tensor.tolist, row.topk(5)))]
                              for row in rows])
            return dict(texts=MASKED, masks=masks)
        if kind is transformers.BertForTokenClassification:
            tokens = []
            for text in TEXTS[:-1]:
                ids = tokenizer(text, return_offsets_mapping=True)
                offsets = ids.pop("offset_mapping")
                with torch.no_grad():
                    rows = model(**{k: torch.tensor([v]) for k, v in ids.items()}).logits[0].softmax(-1)
                tokens.append([
                    dict(text=text[a:b], label=labels[int(row.argmax())], score=float(row.max()))
                    for (a, b), row in zip(offsets, rows) if b > a])
            return dict(texts=TEXTS[:-1], tokens=tokens)
        inputs = [(text,) for text in TEXTS] + PAIRS
        results = []
        for texts in inputs:
            row = run(*texts)[1].logits[0]
            scores = row.sigmoid() if len(row) == 1 else row.softmax(-1)
            results.append({labels[i]: float(p) for i, p in enumerate(scores)})
        return dict(texts=["\t".join(texts) for texts in inputs], labels=results)

    return make


FIXTURE = {
    "llama": decoder,
    "sentence": encoder(transformers.BertModel),
    "labels": encoder(
        transformers.BertForSequenceClassification, id2label={0: "bad", 1: "fair", 2: "good"}, label2id={"bad": 0, "fair": 1, "good": 2}),
    "rank": encoder(transformers.BertForSequenceClassification, num_labels=1),
    "tokens": encoder(
        transformers.BertForTokenClassification, id2label={0: "O", 1: "B-PER", 2: "B-LOC"}, label2id={"O": 0, "B-PER": 1, "B-LOC": 2}),
    "mask": encoder(transformers.BertForMaskedLM),
}


def truncated_pairs():
    """Pairs of texts that are cut to some lengths, as tokenizers does it: text/rank/pairs.json."""
    folder = FIXTURES / "rank"
    tokenizer = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    long, short = "The sky is blue because light is scattered by tiny molecules of air", "Why is it blue?"
    pairs = []
    for first, second in [(long, short), (short, long), (long, long), ("", long), (long, None), ("\u00e4\u00e4 \u6f22\u5b57 " * 4, short)]:
        for limit in (64, 17, 12, 7):
            tokenizer.enable_truncation(limit, strategy="longest_first")
            made = tokenizer.encode(first, second)
            pairs.append(dict(first=first, second=second, limit=limit, ids=made.ids, types=made.type_ids))
    (folder / "pairs.json").write_text(json.dumps(pairs, ensure_ascii=False) + "\n")


def main():
    if sys.argv[1:] == ["pairs"]: return truncated_pairs()
    for name in sys.argv[1:] or FIXTURE:
        folder = FIXTURES / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        texts = FIXTURE[name](folder, name)
        (folder / "texts.json").write_text(json.dumps(texts, ensure_ascii=False, indent=1) + "\n")
        print(name, sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()), "bytes")
    if not sys.argv[1:]: truncated_pairs()


main()
