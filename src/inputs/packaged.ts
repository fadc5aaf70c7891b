/** Folder of the package with arrays of trained models. `manifest.json` there says what they are. */
const FOLDER = 'fixtures'

/** The input used where none is named: the last layer of a pretrained sentence encoder, a padded batch. */
export const PACKAGED_INPUT = `${FOLDER}/minilm-layer5.safetensors`

/** The same where attention is asked to be causal, which the encoder never was: the first layer of a character model. */
export const PACKAGED_CAUSAL_INPUT = `${FOLDER}/charlm-layer0.safetensors`
