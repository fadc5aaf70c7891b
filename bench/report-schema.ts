/** What the benchmarks write. */
import {z} from 'zod'
import {machine} from '../src/results/folder/manifest.js'

/** Fastest and middle of the times of one engine. */
const spread = z.object({min_ns: z.number(), median_ns: z.number(), runs: z.number().int()})
export type Spread = z.infer<typeof spread>

const kernelRow = z.object({
  name: z.string(),
  // what the case is: an operation has its name alone
  method: z.string().optional(),
  op: z.string().optional(),
  heads: z.number().int().optional(),
  headDim: z.number().int().optional(),
  numFeatures: z.number().int().optional(),
  length: z.number().int().optional(),
  causal: z.boolean().optional(),
  /** `null` where bytes are what counts. */
  flops: z.number().nullable(),
  operations: z.record(z.string(), z.enum(['fused', 'composite'])),
  native: spread,
  /** `null` where it was not timed. */
  wasm: spread.nullable(),
  /** Of the fastest native run. */
  gflops: z.number().nullable(),
  fma_peak_gflops: z.number(),
  peak_pct: z.number().nullable(),
  wasm_over_native: z.number().nullable(),
})
export type KernelRow = z.infer<typeof kernelRow>

/** What `npm run bench:kernels` writes. Version 2 counted work as the estimators do; 3 leaves PyTorch to `bench:peers`. */
export const kernelsReport = z.object({
  schema: z.literal('rfa.kernels/3'),
  created_at: z.iso.datetime(),
  machine,
  runtime: z.object({
    isa: z.string(),
    available: z.string(),
    lanes: z.number().int(),
    forced: z.boolean(),
    error: z.string(),
    compiler: z.string(),
    build: z.string(),
  }),
  /** Runnable processes over the last minute: this one counts 1, more is other load. */
  load_average: z.object({before: z.number(), after: z.number()}),
  seconds_per_case: z.number(),
  shape: z.object({heads: z.number(), headDim: z.number(), numFeatures: z.number()}),
  kernels: z.array(kernelRow),
})
export type KernelsReport = z.infer<typeof kernelsReport>

/** Fastest and middle of the times of one engine, in seconds. */
const seconds = z.object({min_s: z.number(), median_s: z.number(), runs: z.number().int()})

const experimentRow = z.object({
  name: z.string(),
  threads: z.number().int(),
  /** From the first cell to the last: no start, no import. */
  rfa: seconds,
  torch: seconds.nullable(),
  /** Of the fastest of each. */
  torch_over_rfa: z.number().nullable(),
  /**
   * One replicate of a sweep, without what is done once: of rfa the difference of a run of six times as many, of the
   * peer its time less that of its exact output. `null` for a variance experiment.
   */
  replicate: z
    .object({rfa_s: z.number(), torch_s: z.number().nullable(), ratio: z.number().nullable()})
    .nullable(),
  /** Ratio that is wanted: of a replicate where `wanted_of` says so. */
  wanted: z.number(),
  wanted_of: z.enum(['replicate', 'whole']),
  /** The whole command, start included. */
  rfa_command: seconds,
  torch_command: seconds.nullable(),
})
export type ExperimentRow = z.infer<typeof experimentRow>

const forwardRow = z.object({
  name: z.string(),
  threads: z.number().int(),
  /** All layers, with weights in memory. */
  rfa: seconds,
  torch_eager: seconds,
  torch_sdpa: seconds,
  /** Of the fastest of each. */
  eager_over_rfa: z.number(),
  sdpa_over_rfa: z.number(),
  /** Largest distance between outputs of the last layer, over the largest number in them. */
  difference: z.number(),
})
export type ForwardRow = z.infer<typeof forwardRow>

const startRow = z.object({name: z.string(), command: seconds})
export type StartRow = z.infer<typeof startRow>

/** What `npm run bench:experiments` writes. */
export const experimentsReport = z.object({
  schema: z.literal('rfa.experiments/1'),
  created_at: z.iso.datetime(),
  machine,
  backend: z.object({name: z.string(), instructionSet: z.string().nullable()}),
  torch: z.string().nullable(),
  load_average: z.object({before: z.number(), after: z.number()}),
  experiments: z.array(experimentRow),
  /** Models on Transformers and PyTorch; empty without them. */
  forwards: z.array(forwardRow).default([]),
  /** Whole commands that hardly compute. */
  starts: z.array(startRow),
})
export type ExperimentsReport = z.infer<typeof experimentsReport>

const backendRow = z.object({
  method: z.string(),
  causal: z.boolean(),
  heads: z.number().int(),
  head_dim: z.number().int(),
  num_features: z.number().int(),
  seq_len: z.number().int(),
  /** Those of native and tensorflow: wasm has one. */
  threads: z.number().int(),
  /** `null` where the backend does not run, or would take seconds. */
  native: spread.nullable(),
  tensorflow: spread.nullable(),
  wasm: spread.nullable(),
})
export type BackendRow = z.infer<typeof backendRow>

/** What taking a backend into use costs a process that has loaded nothing. */
const backendStart = z.object({name: z.string(), ns: z.number(), resident_bytes: z.number()})
export type BackendStart = z.infer<typeof backendStart>

/** What `npm run bench:calibrate -- backends` writes. */
export const backendsReport = z.object({
  schema: z.literal('rfa.backends/1'),
  created_at: z.iso.datetime(),
  machine,
  backends: z.array(z.object({name: z.string(), detail: z.string()})),
  starts: z.array(backendStart),
  rows: z.array(backendRow),
  load_average: z.object({before: z.number(), after: z.number()}),
})
export type BackendsReport = z.infer<typeof backendsReport>
