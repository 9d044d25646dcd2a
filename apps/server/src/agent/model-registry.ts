import { createAnthropic } from '@ai-sdk/anthropic';
import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { type Model, type Models, manualModel, Refusal } from '@countersign/engine';
import { SdkModel } from './sdk-model.ts';

/** The model settings of the configuration. Nothing here is read from the environment. */
export interface ModelSettings {
  /** `provider:model`, or `manual`. */
  readonly model: string;
  /** Address of an OpenAI-compatible server, such as http://localhost:11434/v1. */
  readonly modelUrl?: string | undefined;
  /** Sent only to the provider of `model`, or to `modelUrl` if `model` is `manual`. */
  readonly modelKey?: string | undefined;
  readonly providerKeys?: { readonly anthropic?: string | undefined; readonly openai?: string | undefined };
}

/** Set explicitly, because the SDK would otherwise take an address from the environment and send the key there. */
const addresses = { anthropic: 'https://api.anthropic.com/v1', openai: 'https://api.openai.com/v1' };

/** Bounds the cache, because a message may name any model. */
const MAX_CACHED_MODELS = 100;

type Provider = 'anthropic' | 'openai' | 'openai-compatible';

/** Finds models by `provider:model` (AG-1): Anthropic, OpenAI, any OpenAI-compatible URL, and `manual`. */
export function createModels(settings: ModelSettings, edges: { readonly fetch?: typeof fetch } = {}): Models {
  // Otherwise the SDK prints warnings to the console.
  (globalThis as { AI_SDK_LOG_WARNINGS?: boolean }).AI_SDK_LOG_WARNINGS = false;
  const made = new Map<string, Model>();
  return {
    defaultName: settings.model,
    find(name) {
      if (name === manualModel.name) return manualModel;
      const known = made.get(name);
      if (known) return known;
      const model = makeModel(name, settings, edges);
      if (made.size >= MAX_CACHED_MODELS) made.clear();
      made.set(name, model);
      return model;
    },
  };
}

function makeModel(name: string, settings: ModelSettings, edges: { readonly fetch?: typeof fetch }): Model {
  const colon = name.indexOf(':');
  const provider = name.slice(0, Math.max(0, colon));
  const id = name.slice(colon + 1);
  if (id === '') throw needs(name, 'the name of a model after the colon');
  switch (provider) {
    case 'anthropic': {
      const apiKey = keyFor('anthropic', settings);
      if (apiKey === undefined) throw needs(name, 'an Anthropic key (modelKey, or ANTHROPIC_API_KEY)');
      const anthropic = createAnthropic({ apiKey, baseURL: addresses.anthropic, ...edges });
      return new SdkModel(name, anthropic.languageModel(id));
    }
    case 'openai': {
      const apiKey = keyFor('openai', settings);
      if (apiKey === undefined) throw needs(name, 'an OpenAI key (modelKey, or OPENAI_API_KEY)');
      const openai = createOpenAI({ apiKey, baseURL: addresses.openai, ...edges });
      // The provider must not store the conversation.
      return new SdkModel(name, openai.languageModel(id), { openai: { store: false } });
    }
    case 'openai-compatible': {
      const { modelUrl: baseURL } = settings;
      if (baseURL === undefined) throw needs(name, 'the address of its server (modelUrl)');
      const apiKey = keyFor('openai-compatible', settings);
      const compatible = createOpenAICompatible({
        name: 'openai-compatible',
        baseURL,
        includeUsage: true,
        ...(apiKey !== undefined && { apiKey }),
        ...edges,
      });
      return new SdkModel(name, compatible.languageModel(id));
    }
    default:
      throw needs(name, 'a provider before the colon: anthropic, openai or openai-compatible');
  }
}

function keyFor(
  provider: Provider,
  { model, modelUrl, modelKey, providerKeys = {} }: ModelSettings,
): string | undefined {
  const belongsTo =
    model === manualModel.name && modelUrl !== undefined ? 'openai-compatible' : model.split(':', 1)[0];
  if (modelKey !== undefined && belongsTo === provider) return modelKey;
  return provider === 'openai-compatible' ? undefined : providerKeys[provider];
}

const needs = (model: string, setting: string): Refusal =>
  new Refusal('MODEL_NOT_CONFIGURED', { model: model.slice(0, 200), setting });
