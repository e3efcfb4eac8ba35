"""Writes a language model of two layers with random weights as a GGUF file.

It says nothing that makes sense, and says the same each time: the seed, the text that its
vocabulary is learned from and the versions of the packages are fixed.

Usage: tiny_model.py FILE
"""

import json
import sys
from pydoc_data.topics import topics

import gguf
import numpy
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

NAME = "tiny-random"
SEED = 20261101
VOCABULARY = 16_384
CONTEXT = 8_192
WIDTH = 64
LAYERS = 2
HEADS = 4
INNER = 128

BEGIN, END = "<|begin|>", "<|end|>"
TEMPLATE = (
    "{% for message in messages %}<|begin|>{{ message['role'] }}\n"
    "{{ message['content'] }}<|end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|begin|>assistant\n{% endif %}"
)


def learned_vocabulary() -> Tokenizer:
    """Byte pairs of the English of Python's own manual, which is installed with it."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY,
        special_tokens=[BEGIN, END],
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    tokenizer.train_from_iterator([topics[name] for name in sorted(topics)], trainer)
    return tokenizer


def add_vocabulary(writer: gguf.GGUFWriter, tokenizer: Tokenizer) -> int:
    model = json.loads(tokenizer.to_str())["model"]
    tokens = sorted(model["vocab"], key=model["vocab"].get)
    merges = [merge if isinstance(merge, str) else " ".join(merge) for merge in model["merges"]]
    control = {BEGIN, END}
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(tokens)
    writer.add_token_types(
        [gguf.TokenType.CONTROL if token in control else gguf.TokenType.NORMAL for token in tokens]
    )
    writer.add_token_merges(merges)
    writer.add_bos_token_id(model["vocab"][BEGIN])
    writer.add_eos_token_id(model["vocab"][END])
    writer.add_add_bos_token(False)
    writer.add_chat_template(TEMPLATE)
    return len(tokens)


def add_weights(writer: gguf.GGUFWriter, vocabulary: int) -> None:
    random = numpy.random.default_rng(SEED)

    def matrix(name: str, rows: int, columns: int) -> None:
        values = random.standard_normal((rows, columns)) / numpy.sqrt(columns)
        writer.add_tensor(name, values.astype(numpy.float32))

    def ones(name: str) -> None:
        writer.add_tensor(name, numpy.ones(WIDTH, dtype=numpy.float32))

    matrix("token_embd.weight", vocabulary, WIDTH)
    for layer in range(LAYERS):
        block = f"blk.{layer}"
        ones(f"{block}.attn_norm.weight")
        for name in ("attn_q", "attn_k", "attn_v", "attn_output"):
            matrix(f"{block}.{name}.weight", WIDTH, WIDTH)
        ones(f"{block}.ffn_norm.weight")
        matrix(f"{block}.ffn_gate.weight", INNER, WIDTH)
        matrix(f"{block}.ffn_up.weight", INNER, WIDTH)
        matrix(f"{block}.ffn_down.weight", WIDTH, INNER)
    ones("output_norm.weight")
    matrix("output.weight", vocabulary, WIDTH)


def main(file: str) -> None:
    writer = gguf.GGUFWriter(file, "llama")
    writer.add_name(NAME)
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(INNER)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(WIDTH // HEADS)
    writer.add_file_type(gguf.LlamaFileType.ALL_F32)
    vocabulary = add_vocabulary(writer, learned_vocabulary())
    writer.add_vocab_size(vocabulary)
    add_weights(writer, vocabulary)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


main(sys.argv[1])
