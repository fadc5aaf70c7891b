/** The flags that people use, in words that fit one line: what `-h` shows of each command. */

/** Flags of one command in the order of its help, each with what it does. */
export type BriefFlags = Readonly<Record<string, string>>

const METHODS = {methods: 'estimators; rfa methods lists them'}
const NUM_FEATURES = {'num-features': 'random vectors M, as 64,256 or 64..1kx2'}
const INPUT = {input: 'queries, keys and values of your own'}
const LAYER = {layer: 'layers of that file, as 0,3 or 0..11'}
const LENGTHS = {'seq-len': 'lengths L, as 512,1024 or 256..16kx2'}
const CAUSAL = {causal: 'no query sees a later key'}
const QUICK = {quick: 'a smaller grid, done in seconds'}
const OUTPUT = {output: 'folder of the run'}
const RESUME = {resume: 'continue the run in --output'}
const DETAILS = {details: 'print every table, not only the answer'}
const SEED = {seed: 'seed of every random draw'}
const DRY_RUN = {'dry-run': 'print cells, predicted time and memory'}
const PLUGIN = {plugin: 'module with an estimator of your own'}
const JSON_FLAG = {json: 'the whole result as JSON on stdout'}

/** By command; at most ten flags each. */
export const BRIEF_FLAGS: Readonly<Record<string, BriefFlags>> = {
  'error-sweep': {
    ...QUICK,
    ...INPUT,
    ...LAYER,
    ...METHODS,
    ...NUM_FEATURES,
    ...LENGTHS,
    ...CAUSAL,
    replicates: 'independent draws per cell',
    ...OUTPUT,
    ...DETAILS,
  },
  bench: {
    ...QUICK,
    ...METHODS,
    ...LENGTHS,
    ...NUM_FEATURES,
    input: 'take shapes from your own file',
    ...CAUSAL,
    model: 'folder of a whole model to time',
    mode: 'forward, decode (token by token), layer or model',
    ...OUTPUT,
    ...DETAILS,
  },
  variance: {
    ...QUICK,
    ...METHODS,
    projections: 'random matrices',
    ...NUM_FEATURES,
    norms: 'norms of both vectors',
    angles: 'angles between them in degrees',
    input: 'take pairs from your own queries and keys',
    replicates: 'independent draws',
    ...OUTPUT,
    ...DETAILS,
  },
  swap: {
    ...QUICK,
    model: 'folder of a pretrained model',
    texts: 'file of texts, one a line, or folder of .txt files',
    layers: 'all, each, or some at once, as 0,3 or first:2',
    budget: 'search the most layers for this loss, as 0.01',
    ...METHODS,
    ...NUM_FEATURES,
    tuned: 'learned parameters: what do they repair',
    ...OUTPUT,
    ...DETAILS,
  },
  inputs: {...INPUT, ...LAYER, ...CAUSAL, ...OUTPUT, ...DETAILS, ...JSON_FLAG},
  advise: {
    quick: 'fewer candidates: about 20 seconds',
    ...INPUT,
    ...LAYER,
    model: 'folder of a whole model, judged by what it loses',
    budget: 'most loss of that model, as 0.05',
    tolerance: 'largest error that you accept, as 5%',
    'seq-len': 'length L to advise for',
    methods: 'candidates',
    ...OUTPUT,
    ...DETAILS,
  },
  tune: {
    ...QUICK,
    model: 'folder of a model: all layers, judged by what it loses',
    texts: 'file of texts, one a line, or folder of .txt files',
    ...INPUT,
    method: 'estimator; rfa methods lists them',
    'num-features': 'random vectors M',
    steps: 'most steps',
    draws: 'independent draws of the random vectors',
    output: 'file of what was learned, FILE.safetensors',
    ...DETAILS,
  },
  train: {
    ...QUICK,
    task: 'mqar (recall), copy or chars',
    ...METHODS,
    ...NUM_FEATURES,
    pairs: 'mqar: keys with values, as 4,8,16',
    texts: 'chars: file of texts',
    rates: 'learning rates to choose from, as 1e-3..3e-2x4',
    seeds: 'runs of each method at each rate',
    ...OUTPUT,
    ...DETAILS,
  },
  compare: {
    methods: 'two methods of one run, the base first',
    'fail-on': 'exit with 1 if B exceeds A, as time:10%',
    strict: 'exit with 1 for inconclusive lines, too',
    output: 'file to write: .md, .csv, .json or .html',
    ...DETAILS,
    ...JSON_FLAG,
  },
  claims: {
    quick: 'fewer draws: about a minute',
    'with-training': 'claims about trained models, too: small ones are trained',
    explain: 'print setting and rule of each claim, run nothing',
    figure: 'a figure of a paper in place of claims',
    strict: 'exit with 1 unless every claim was shown',
    ...OUTPUT,
    ...RESUME,
    ...DETAILS,
    ...SEED,
  },
  report: {
    ...DETAILS,
    html: 'write a page with figures',
    output: 'write Markdown',
    svg: 'folder for the figures as SVG',
    pdf: 'folder for the figures as PDF',
    png: 'folder for the figures as PNG',
    tex: 'folder for the tables as LaTeX',
    open: 'show the page of --html in the browser',
    plot: 'draw the main figure in the terminal',
  },
  methods: {
    preset: 'what a preset of a released code changes',
    projections: 'random matrices in place of estimators',
    records: 'what each column of saved tables means',
    ...DETAILS,
    ...PLUGIN,
    markdown: 'print Markdown',
  },
  doctor: {...DETAILS, ...PLUGIN, ...JSON_FLAG},
  run: {
    ...OUTPUT,
    ...RESUME,
    shard: 'run part I of N, in a folder of its own',
    ...DRY_RUN,
    threads: 'threads in all',
    ...PLUGIN,
    ...DETAILS,
  },
  merge: {
    output: 'folder of the merged run',
    partial: 'merge although cells are missing',
    ...DETAILS,
  },
  slurm: {
    shards: 'tasks of the array',
    cpus: 'processors of each task',
    mem: 'memory of each task',
    time: 'time limit of each task',
    partition: 'partition',
    'at-once': 'most tasks that run at the same time',
    sbatch: 'another option of sbatch',
    output: 'folder for scripts and shards',
    submit: 'submit the jobs, too',
  },
  check: {
    only: 'kinds of checks',
    'max-time': 'seconds for each statistical check',
    strict: 'exit with 1 for checks that did not run, too',
    ...DETAILS,
    ...SEED,
    ...JSON_FLAG,
  },
  export: {
    model: 'folder as Hugging Face writes it',
    texts: 'file with a text on each line, or folder of .txt files',
    'max-texts': 'first texts to read',
    'max-tokens': 'tokens at which a text is cut',
    layer: 'layers to write, as 0,3',
    output: 'folder of the files',
    force: 'replace files that are there',
  },
  apply: {
    method: 'the estimator',
    ...INPUT,
    ...LAYER,
    output: 'file to write: .npz, .npy or .safetensors',
    'num-features': 'random vectors M',
    ...CAUSAL,
    option: 'option of the estimator, as tau=0.5',
    preset: 'released code to reproduce',
    ...SEED,
    force: 'replace the output if it is there',
  },
  completion: {plugin: 'complete the names of its estimators, too'},
}
