// pi-ai/oauth: logins are the host's, so every name is a stub that says so.

import { withStubs } from "../stubs.js";

export const {
  anthropicOAuthProvider, antigravityOAuthProvider, geminiCliOAuthProvider, getGitHubCopilotBaseUrl, getOAuthApiKey, getOAuthProvider,
  getOAuthProviderInfoList, getOAuthProviders, githubCopilotOAuthProvider, loginAnthropic, loginAntigravity, loginGeminiCli,
  loginGitHubCopilot, loginOpenAICodex, normalizeDomain, openaiCodexOAuthProvider, refreshAnthropicToken, refreshAntigravityToken,
  refreshGitHubCopilotToken, refreshGoogleCloudToken, refreshOAuthToken, refreshOpenAICodexToken, registerOAuthProvider,
  resetOAuthProviders, unregisterOAuthProvider,
} = withStubs("pi-ai/oauth");
