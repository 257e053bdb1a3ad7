// The pages of the guide, in reading order.

const GUIDE_PAGES = [
  guideStory, guideTemplate, guideTokens, guideEmbeddings,
  guideAttention, guideLogits, guideTemperature, guideLoop, guideCache,
  guidePasses, guideStopping, guideCost, guideForgetting, guideAgents,
];
