/// Fields that transformers or a tool writes into any configuration, in some version. If a family reads one of them,
/// its use by the family takes precedence.
extension [InertFields] {
    static let common: [InertFields] = [
        InertFields(
            "says where the model comes from",
            [
                "_name_or_path", "name_or_path", "_commit_hash", "transformers_version", "model_type", "architectures",
                "torch_dtype", "dtype", "auto_map", "custom_pipelines", "trust_remote_code", "_from_auto",
                "_diffusers_version", "base_model", "license", "language", "_auto_class",
                "sbert_ce_default_activation_function", "sentence_transformers",
            ]),
        InertFields(
            "names classes, or the task that the model was tuned for",
            [
                "id2label", "label2id", "num_labels", "_num_labels", "problem_type", "finetuning_task",
                "task_specific_params",
            ]),
        InertFields(
            "names tokens, for tokenizers and for losses",
            [
                "bos_token_id", "eos_token_id", "eos_token_ids", "pad_token_id", "sep_token_id", "cls_token_id",
                "mask_token_id", "unk_token_id", "decoder_start_token_id", "prefix", "tokenizer_class",
                "tokenizer_name", "tokenizer_model_max_length", "model_max_length", "max_seq_length",
                "max_sequence_length", "max_seq_len", "seq_length", "do_lower_case", "padding_side", "truncation_side",
                "chat_template", "suppress_tokens", "begin_suppress_tokens",
            ]),
        InertFields(
            "belongs to the choice of tokens, which the caller makes",
            [
                "max_length", "min_length", "max_new_tokens", "do_sample", "early_stopping", "num_beams",
                "num_beam_groups", "diversity_penalty", "temperature", "top_k", "top_p", "min_p", "typical_p",
                "repetition_penalty", "length_penalty", "no_repeat_ngram_size", "encoder_no_repeat_ngram_size",
                "bad_words_ids", "num_return_sequences", "output_scores", "return_dict_in_generate",
                "forced_bos_token_id", "forced_eos_token_id", "forced_decoder_ids", "remove_invalid_values",
                "exponential_decay_length_penalty", "epsilon_cutoff", "eta_cutoff", "encoder_repetition_penalty",
                "num_assistant_tokens", "num_assistant_tokens_schedule", "assistant_confidence_threshold",
                "assistant_lookbehind", "target_lookbehind", "penalty_alpha", "renormalize_logits", "generation_config",
                "cache_implementation", "cache_config",
            ]),
        InertFields(
            "says what a call returns besides, or keeps for the next",
            [
                "output_attentions", "output_hidden_states", "output_past", "return_dict", "use_return_dict",
                "use_cache", "tie_last_hidden_states",
            ]),
        InertFields(
            "says how to compute the same",
            [
                "chunk_size_feed_forward", "attn_implementation", "_attn_implementation",
                "_attn_implementation_internal", "_attn_implementation_autoset", "attn_impl", "use_flash_attn",
                "use_flash_attention", "use_flash_attention_2", "_flash_attn_2_enabled",
                "use_memory_efficient_attention",
                "unpad_inputs", "experts_implementation", "_experts_implementation", "torchscript", "use_bfloat16",
                "fp16", "bf16", "fp32", "xla_device", "gradient_checkpointing", "tf_legacy_loss", "low_cpu_mem_usage",
                "transformers.js_config", "export_model_type", "onnx_config", "optimum_version", "use_sdpa",
                "pretraining_tp",
            ]),
        InertFields(
            "drops elements, in training only",
            [
                "dropout", "attention_dropout", "attention_probs_dropout_prob", "hidden_dropout",
                "hidden_dropout_prob", "activation_dropout", "classifier_dropout", "classifier_dropout_prob",
                "embedding_dropout", "mlp_dropout", "qa_dropout", "seq_classif_dropout", "embd_pdrop", "resid_pdrop",
                "attn_pdrop", "encoder_layerdrop", "decoder_layerdrop", "layerdrop", "feat_proj_dropout",
                "feat_extract_dropout", "feat_quantizer_dropout", "final_dropout",
            ]),
        InertFields(
            "belongs to training",
            [
                "initializer_range", "initializer_factor", "init_std", "neftune_noise_alpha", "unsloth_*",
                "label_smoothing",
            ]),
        InertFields(
            "belongs to other kinds of models, which the class is not",
            [
                "is_decoder", "is_encoder_decoder", "add_cross_attention", "cross_attention_hidden_size",
                "tie_encoder_decoder", "pruned_heads",
            ]),
    ]

    /// Fields of models without a head that could share the word embeddings.
    static let headless: [InertFields] = [
        InertFields("says that a head shares the word embeddings, and there is none", ["tie_word_embeddings"])
    ]

    /// Fields of the masking of audio, which happens in training only.
    static let masking: [InertFields] = [
        InertFields(
            "hides parts of the audio, in training only", ["apply_spec_augment", "mask_time_*", "mask_feature_*"])
    ]
}
