/** Folder of the package with arrays of trained models. `manifest.json` there says what they are. */
const FOLDER = 'fixtures'

/** The input used where none is named: queries, keys and values of the model's first layer. */
export const PACKAGED_INPUT = `${FOLDER}/charlm-layer0.safetensors`
